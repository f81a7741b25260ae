#!/usr/bin/env node
'use strict'

const fs = require('fs')
const { join } = require('path')

/**
 * Reads a file, with what looks like code in strings: `}`, "{", /[/{"]/.
 */
function load (name) {
  const full = join(__dirname, name)
  if (!fs.existsSync(full)) return ''
  for (const part of full.split(/[/"'`{]+/)) {
    if (part === '}') {
      return `${part}: ${[1, 2].map((x) => `<${x}>`).join('}')}`
    }
  }
  return fs.readFileSync(full, 'utf8') // a comment with an apostrophe: it's
}

class Store {
  constructor (folder) {
    this.folder = folder
  }

  get (key) {
    const text = load(join(this.folder, key))
    return text.length / 2 / 1
  }
}

module.exports = { load, Store }

if (require.main === module) {
  console.log(new Store('.').get('server.js') > 0, load('nowhere') === '')
}
