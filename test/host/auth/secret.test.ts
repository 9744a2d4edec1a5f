import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createFakeClock } from "@svc/sdk/testing";
import { Access } from "../../../host/auth/access.ts";
import type { AuthSettings } from "../../../host/auth/settings.ts";
import { keepToken, readKeptToken, sameSecret } from "../../../host/auth/secret.ts";

function credentials(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "svc-credentials-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

describe("comparing secrets [W7.5 H4.9]", () => {
  const rows: [given: string, expected: string, same: boolean][] = [
    ["abc", "abc", true],
    ["", "", true],
    ["ä😀", "ä😀", true],
    ["abc", "abd", false],
    ["abc", "abcd", false],
    ["abc", "", false],
    ["abc", "ABC", false],
    ["abc", "abc ", false],
  ];
  for (const [given, expected, same] of rows) {
    const verb = same ? "is" : "is not";
    it(`${JSON.stringify(given)} ${verb} ${JSON.stringify(expected)}`, () =>
      assert.equal(sameSecret(given, expected), same));
  }
});

describe("a weak secret", () => {
  const warned = (settings: AuthSettings) => new Access(settings, {}, 18_789, createFakeClock()).warnings();

  it("is a warning that names the way to a strong one in its mode", () => {
    const weak: [settings: AuthSettings, characters: number][] = [
      [{ mode: "token", token: "abc" }, 16],
      [{ mode: "password", password: "hunter2" }, 12],
    ];
    for (const [settings, characters] of weak) {
      const next = `fewer than ${characters} characters: .* Next: svc config set --string gateway\\.auth\\.${settings.mode} "\\$\\(openssl`;
      assert.match(warned(settings).join(), new RegExp(next));
    }
    assert.deepEqual(warned({ mode: "token", token: "abcdef0123456789" }), []);
  });
});

describe("the gateway's own token", () => {
  const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);

  it("does not exist before the first start", (t) => assert.equal(readKeptToken(credentials(t)), undefined));

  it("is generated once, readable only by its owner, and stored [W7.3 H2.6]", (t) => {
    const directory = credentials(t);
    const token = keepToken(directory);
    const file = join(directory, "gateway-token");
    assert.match(token, /^[0-9a-f]{48}$/);
    assert.equal(readFileSync(file, "utf8"), `${token}\n`);
    assert.equal(modeOf(file), "600");
    assert.deepEqual([keepToken(directory), readKeptToken(directory)], [token, token]);
  });

  it("differs per directory", (t) => assert.notEqual(keepToken(credentials(t)), keepToken(credentials(t))));

  for (const [why, text] of [
    ["an empty file", ""],
    ["a blank file", " \n"],
  ]) {
    it(`is generated in place of ${why}, which becomes private`, (t) => {
      const directory = credentials(t);
      const file = join(directory, "gateway-token");
      writeFileSync(file, String(text));
      chmodSync(file, 0o644);
      assert.equal(readKeptToken(directory), undefined);
      assert.match(keepToken(directory), /^[0-9a-f]{48}$/);
      assert.equal(modeOf(file), "600");
    });
  }

  it("becomes private again when a copy of it was restored", (t) => {
    const directory = credentials(t);
    const file = join(directory, "gateway-token");
    writeFileSync(file, "mine\n");
    chmodSync(file, 0o644);
    assert.equal(keepToken(directory), "mine");
    assert.equal(modeOf(file), "600");
  });
});
