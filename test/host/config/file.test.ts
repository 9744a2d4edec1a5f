import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { type ConfigFile, readConfigFile } from "../../../host/config/file.ts";
import { configFile } from "./scene.ts";

const EMPTY_HASH = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

const read = (t: TestContext, text?: string, env: Record<string, string> = {}): Promise<ConfigFile> =>
  readConfigFile(configFile(t, text).configPath, env);

const firstIssue = async (path: string) => String((await readConfigFile(path, {})).issues[0]?.message);

describe("the configuration file", () => {
  it("may be missing: nothing is set, and the hash is that of empty text", async (t) => {
    const file = await read(t);
    const nothing = { exists: false, text: "", hash: EMPTY_HASH, parsed: {}, resolved: {}, issues: [] };
    assert.deepEqual({ ...file, ...nothing }, file);
  });

  it("is hashed unchanged, comments and line ends included", async (t) => {
    const one = await read(t, '{"a": 1}');
    const two = await read(t, '{"a": 1}\n');
    assert.equal(one.hash, "f9d86028c6e0d64e225186f96acb69338b2c59764df79162107f5c4bb34d1310");
    assert.notEqual(one.hash, two.hash);
    assert.deepEqual(one.parsed, two.parsed);
  });

  it("may be JSON5: comments, bare keys, single quotes, trailing commas, a byte order mark", async (t) => {
    const { parsed, issues } = await read(t, "\ufeff// mine\n{ gateway: { port: 0x10, /* why */ bind: 'lan', }, }\n");
    assert.deepEqual([parsed, issues], [{ gateway: { port: 16, bind: "lan" } }, []]);
  });

  const broken: [why: string, text: string, message: RegExp][] = [
    ["is not JSON5", "{ gateway: }", /JSON5: invalid character '}' at 1:12/],
    ["is empty", "", /JSON5: invalid end of input/],
    ["is a list", "[1]", /must hold one object/],
    ["is null", "null", /must hold one object/],
  ];
  for (const [why, text, message] of broken) {
    it(`that ${why} is an issue of the whole file, not an exception`, async (t) => {
      const { exists, parsed, resolved, issues } = await read(t, text);
      assert.deepEqual([exists, parsed, resolved, issues.length, issues[0]?.path], [true, {}, {}, 1, ""]);
      assert.match(String(issues[0]?.message), message);
    });
  }

  it("that cannot be read is an issue that names it, and has no hash, so that it is not overwritten", async (t) => {
    const { configPath } = configFile(t);
    mkdirSync(configPath);
    const { exists, issues, hash } = await readConfigFile(configPath, {});
    assert.deepEqual([exists, issues.length, issues[0]?.path, hash], [true, 1, "", ""]);
    assert.ok(issues[0]?.message.startsWith(`cannot read ${configPath}: EISDIR`));
  });

  it("that is not a regular file, too large, too deep or not UTF-8 is refused without waiting", async (t) => {
    const { configPath } = configFile(t);
    execFileSync("mkfifo", [configPath]);
    assert.match(await firstIssue(configPath), /not a regular file/);
    rmSync(configPath);
    writeFileSync(configPath, `{"a": "${"x".repeat(2 * 1024 * 1024)}"}`);
    assert.match(await firstIssue(configPath), /larger than 2 MiB/);
    writeFileSync(configPath, Buffer.from([0x7b, 0xff, 0x7d]));
    assert.match(await firstIssue(configPath), /not UTF-8/);
    for (const depth of [101, 500_000]) {
      writeFileSync(configPath, `{"a": ${"[".repeat(depth)}${"]".repeat(depth)}}`);
      assert.match(await firstIssue(configPath), /more than 100 levels/);
    }
    writeFileSync(configPath, `{"a": ${"[".repeat(99)}${"]".repeat(99)}}`);
    assert.equal(await firstIssue(configPath), "undefined");
  });

  it("lists its included files", async (t) => {
    const { configPath } = configFile(t, '{"$include": ["./a.json5", "./gone.json5"]}');
    writeFileSync(join(dirname(configPath), "a.json5"), "{}");
    const { files } = await readConfigFile(configPath, {});
    const names = files.map((file) => basename(file));
    assert.deepEqual(names, ["svc.json", "a.json5", "gone.json5"]);
  });

  it("cannot reach a prototype", async (t) => {
    const text = '{"__proto__": {"polluted": 1}, "a": {"__proto__": {"polluted": 2}, "constructor": {"polluted": 3}}}';
    for (const source of [text, `// JSON5\n${text}`]) {
      const { parsed, resolved } = await read(t, source);
      assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
      for (const value of [parsed, resolved]) {
        assert.equal(Object.getPrototypeOf(value), Object.prototype);
        assert.deepEqual(Object.keys(value), ["__proto__", "a"]);
        assert.equal(value["polluted"], undefined);
      }
    }
  });
});

describe("variables in the configuration", () => {
  const env = { NAME: "ada", PORT_2: "81", EMPTY: "", _X: "x" };

  const rows: [why: string, written: string, read: string][] = [
    ["the whole text", "${NAME}", "ada"],
    ["a part of it", "hi ${NAME}!", "hi ada!"],
    ["two in one text", "${NAME}:${PORT_2}", "ada:81"],
    ["a leading underscore", "${_X}", "x"],
    ["the literal text", "$${NAME}", "${NAME}"],
    ["the literal text of an unknown one", "$${NOBODY}", "${NOBODY}"],
    ["a lower-case name is no variable", "${name}", "${name}"],
    ["a dollar alone", "$NAME costs 5$", "$NAME costs 5$"],
    ["an open brace", "${NAME", "${NAME"],
  ];
  for (const [why, written, expected] of rows) {
    it(`${why}: ${written}`, async (t) => {
      const { parsed, resolved, issues } = await read(t, JSON.stringify({ a: [{ b: written }] }), env);
      assert.deepEqual(parsed, { a: [{ b: written }] });
      assert.deepEqual([resolved, issues], [{ a: [{ b: expected }] }, []]);
    });
  }

  it("are not replaced in values of other variables or in keys", async (t) => {
    const { resolved } = await read(t, '{"${NAME}": "${OUTER}"}', { ...env, OUTER: "${NAME}" });
    assert.deepEqual(resolved, { "${NAME}": "${NAME}" });
  });

  for (const name of ["NOBODY", "EMPTY"])
    it(`that are not set or empty are an issue with the dotted path, the name and the next step: ${name}`, async (t) => {
      const { issues } = await read(t, JSON.stringify({ a: { list: ["x", { b: `\${${name}}` }] } }), env);
      const message = `environment variable ${name} is not set or empty; set it, or write $\${${name}} for the literal text`;
      assert.deepEqual(issues, [{ path: "a.list[1].b", message }]);
    });
});
