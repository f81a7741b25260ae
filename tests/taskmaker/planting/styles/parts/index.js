"use strict";

const { total } = require("./sum");
const path = require("node:path");

function main(args) {
  const name = path.basename(__filename);
  let sum = 0;
  if (args.length === 0) {
    sum = total([1, 2, 3]);
  }
  return `${name} ${sum}`;
}

console.log(main(process.argv.slice(2)));
