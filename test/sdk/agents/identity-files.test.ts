import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { IDENTITY_FILES, identityFilesAt, isIdentityFile } from "@svc/sdk/agents";

describe("identity files", () => {
  /** Spellings that name the same file, on some file system or after the path is resolved. */
  const spellings: [what: string, spell: (name: string) => string][] = [
    ["as it is", (name) => name],
    ["in lower case", (name) => name.toLowerCase()],
    ["in upper case", (name) => name.toUpperCase()],
    ["with a long s and a dotless i", (name) => name.replaceAll("S", "ſ").replaceAll("I", "ı")],
    ["behind ./", (name) => `./${name}`],
    ["behind .//./", (name) => `.//./${name}`],
    ["after a way down and up", (name) => `notes/../${name}`],
    ["with a backslash", (name) => `.\\${name}`],
    ["with a character that cannot be seen", (name) => `${name[0]}\u200c${name.slice(1)}`],
    ["with a dot at the end", (name) => `${name}.`],
    ["with a blank at the end", (name) => `${name} `],
    ["with a slash at the end", (name) => `${name}/`],
  ];
  for (const [what, spell] of spellings) {
    for (const file of IDENTITY_FILES) {
      it(`know ${JSON.stringify(spell(file))}: ${what}`, () => {
        assert.ok(isIdentityFile(spell(file)));
        assert.ok(identityFilesAt(spell(file)).includes(file));
      });
    }
  }

  const others = [
    "", ".", "..", "/", "notes.md", "memory/2026-01-01.md", "notes/AGENTS.md", "../AGENTS.md", "/AGENTS.md", "AGENTS.md/x", "AGENTS", "AGENTS.mdx",
    "xAGENTS.md", ".AGENTS.md", "AGENTS .md", "ＡGENTS.md",
  ]; // prettier-ignore
  for (const path of others) {
    it(`are not at ${JSON.stringify(path)}`, () => assert.deepEqual(identityFilesAt(path), []));
  }

  it("are two where a file system may take two names for one", () => {
    assert.deepEqual(identityFilesAt("Memory.md"), ["MEMORY.md", "memory.md"]);
  });
});
