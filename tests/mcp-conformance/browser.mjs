// The browser of a person who agrees to everything: opens the address and goes wherever it is sent.
await fetch(process.argv.at(-1));
