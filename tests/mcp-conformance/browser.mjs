// The browser of a user who agrees to everything: opens the address and follows redirects.
await fetch(process.argv.at(-1));
