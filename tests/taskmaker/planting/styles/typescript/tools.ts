import { z } from "zod";
import * as fs from "node:fs";

export interface Item {
  name: string;
  size?: number;
}

function pick(one: string): string;
function pick(one: number): number;
function pick(one: unknown): unknown {
  return one;
}

/** Reads an item. */
export async function read(name: string): Promise<Item> {
  const text = fs.readFileSync(name, "utf8");
  return { name: text, size: pick(text.length) };
}

export const write = (item: Item): void => {
  fs.writeFileSync(item.name, JSON.stringify(item));
};

export const shape = z.object({ name: z.string() });
