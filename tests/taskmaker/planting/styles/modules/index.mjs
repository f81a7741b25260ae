import { readFileSync } from "node:fs";
import {
    dirname,
    join,
} from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

const shout = (text) => {
    const words = text.split(" ");
    return words.map((word) => word.toUpperCase()).join(" ");
};

export async function main() {
    const lines = readFileSync(join(here, "index.mjs"), "utf8").split("\n");
    const first = lines[0] ?? "";
    if (first.length > 3) {
        console.log(shout(first));
    }
}

await main();
