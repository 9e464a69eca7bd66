// Imported before anything else, so that an old Node says this and not a syntax error from elsewhere.
const NEEDED = [20, 19];
const [major, minor] = process.versions.node.split('.').map(Number);

if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  console.error(
    `Headgate needs Node ${NEEDED.join('.')} or later; this is ${process.version} (${process.execPath}). ` +
      'Node 24 is what we recommend.',
  );
  process.exit(1);
}
