import { greet } from './greet.mjs'

export class Greeter {
  constructor(name) {
    this.name = name
  }

  run() {
    const text = greet(this.name)
    return text
  }
}

console.log(new Greeter('all').run())
