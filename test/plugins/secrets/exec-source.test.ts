// long: starts whole programs
/** The source exec: its protocol, its limits and every refusal, with real programs. Spec: http/config.md §6. */
import assert from "node:assert/strict";
import { chmod, chown, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createExecSource } from "../../../plugins/secrets/exec-source.ts";
import { createFakeClock } from "../../../sdk/testing/fake-clock.ts";
import { directory } from "../../directory.ts";
import { program, providerWith, systemClock } from "./scene.ts";

const CANARY = "canary-exec-41d7";
const { signal } = new AbortController();
const source = createExecSource({ clock: systemClock, env: { PASSED: "p", HELD_BACK: CANARY } });

const print = (value: unknown) => `process.stdout.write(${JSON.stringify(JSON.stringify(value))});`;
const raw = (text: string) => `process.stdout.write(${JSON.stringify(text)});`;
const empty = { protocolVersion: 1, values: {} };
const answer = (values: unknown) => print({ ...empty, values });
const good = answer({ key: CANARY });

async function look(t: TestContext, code: string, ids: readonly string[] = ["key"], settings: object = {}) {
  const command = await program(join(directory(t), "find"), code);
  return source.resolve(providerWith({ command, ...settings }), ids, signal);
}

/** Matches an error with this text that quotes nothing the program printed. */
const because = (words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Error);
  assert.match(error.message, words);
  assert.match(error.message, /^secrets\.providers\.vault: /u);
  assert.doesNotMatch(`${error.stack} ${String(error.cause)}`, new RegExp(CANARY, "u"));
  return true;
};

/** Whether a process is running and not a zombie. */
async function isRunning(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  return stat !== undefined && !/\) Z /u.test(stat);
}

async function ended(pid: number): Promise<void> {
  while (await isRunning(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe("the protocol of the source exec", { timeout: 120_000 }, () => {
  it("sends one line of JSON", async (t) => {
    const echo =
      "process.stdout.write(JSON.stringify({ protocolVersion: 1, values: { a: input, b: JSON.stringify(asked) } }));";
    const found = await look(t, echo, ["a", "b"]);
    const expected = { protocolVersion: 1, provider: "vault", ids: ["a", "b"] };
    assert.equal(found.get("a"), `${JSON.stringify(expected)}\n`);
  });

  const plain = { jsonOnly: false };
  const answers: [why: string, code: string, settings: object, value: string | undefined][] = [
    ["values", answer({ key: CANARY, other: "x" }), {}, CANARY],
    ["a value that is missing", answer({}), {}, undefined],
    ["a value that is empty", answer({ key: "" }), {}, undefined],
    ["a value that is no text", answer({ key: 1 }), {}, undefined],
    ["an error for an id", print({ ...empty, errors: { key: { message: CANARY } } }), {}, undefined],
    ["plain text where it may", raw(`${CANARY}\n`), plain, CANARY],
    ["JSON of its own where it may", raw(`{"private_key":"${CANARY}"}`), plain, `{"private_key":"${CANARY}"}`],
    ["a number where it may", raw("4711"), plain, "4711"],
    ["nothing where plain text may be", "", plain, undefined],
    ["the protocol where plain text may be", good, plain, CANARY],
  ];
  it("accepts values of the protocol, and plain text where jsonOnly is false", async (t) => {
    for (const [why, code, settings, value] of answers) {
      const found = await look(t, code, ["key"], settings);
      assert.deepEqual([...found], value === undefined ? [] : [["key", value]], why);
    }
  });

  it("finds no value of a prototype", async (t) => {
    assert.deepEqual([...(await look(t, answer({}), ["constructor", "toString"]))], []);
    const own = raw('{"protocolVersion":1,"values":{"__proto__":{"key":"x"}}}');
    assert.deepEqual([...(await look(t, own, ["key"]))], []);
  });

  const both = `${good} console.error(${JSON.stringify(CANARY)}); process.exitCode = 3;`;
  const stays = "setInterval(() => {}, 1000);";
  const silence = { noOutputTimeoutMs: 400 };
  const refusals: [why: string, code: string, words: RegExp, settings?: object, ids?: string[]][] = [
    ["plain text", raw(CANARY), /it must print \{"protocolVersion":1/u],
    ["broken JSON", raw(`{"protocolVersion":1,"values":{"key":"${CANARY}"`), /it must print/u],
    ["a list", raw(`["${CANARY}"]`), /it must print/u],
    ["another version", print({ protocolVersion: 2, values: { key: CANARY } }), /"protocolVersion":1/u],
    ["no values", print({ protocolVersion: 1 }), /"values" must be an object/u],
    ["values that are a list", print({ ...empty, values: [CANARY] }), /"values" must be an object/u],
    ["plain text for two ids", raw(CANARY), /answers one id only/u, { jsonOnly: false }, ["a", "b"]],
    ["bytes that are no text", "process.stdout.write(Buffer.from([255, 254]));", /text in UTF-8/u],
    ["a failure that prints to both outputs", both, /exited with code 3; run it by hand/u],
    ["an end by a signal", "process.kill(process.pid, 'SIGTERM');", /was ended by SIGTERM/u],
    ["too much output", raw("x".repeat(20)), /more than 19 bytes; raise maxOutputBytes/u, { maxOutputBytes: 19 }],
    ["a program that stays", good + stays, /longer than 400 ms and was killed; raise timeoutMs/u, { timeoutMs: 400 }],
    ["a silent program", stays, /printed nothing for 400 ms and was killed/u, silence],
    ["a pause in the middle", good + stays, /printed nothing for 400 ms/u, silence],
  ];
  for (const [why, code, words, settings, ids] of refusals) {
    it(`refuses ${why}`, (t) => assert.rejects(look(t, code, ids, settings), because(words)));
  }

  it("accepts output of exactly the maximum size", async (t) => {
    const maxOutputBytes = JSON.stringify({ protocolVersion: 1, values: { key: CANARY } }).length;
    assert.equal((await look(t, good, ["key"], { maxOutputBytes })).get("key"), CANARY);
  });

  it("accepts a program that does not read its input", async (t) => {
    const command = join(directory(t), "deaf");
    await writeFile(command, `#!/bin/sh\nexec 0<&-\nprintf %s '{"protocolVersion":1,"values":{"key":"x"}}'\n`, {
      mode: 0o700,
    });
    const ids = ["key", ...Array.from({ length: 20_000 }, (_, index) => `id${index}`)];
    assert.equal((await source.resolve(providerWith({ command }), ids, signal)).get("key"), "x");
  });
});

describe("a program of the source exec", { timeout: 120_000 }, () => {
  it("gets only the configured environment and its arguments unchanged, without a shell, in its own directory", async (t) => {
    const show =
      "process.stdout.write(JSON.stringify({ protocolVersion: 1, values: { key: JSON.stringify([process.env, process.argv.slice(2), process.cwd()]) } }));";
    const command = await program(join(directory(t), "find"), show);
    const args = ["$HOME", "`id`", "a b", "; exit 1", ""];
    const settings = { command, args, passEnv: ["PASSED", "NOT_SET"], env: { OWN: "$PASSED" } };
    const found = await source.resolve(providerWith(settings), ["key"], signal);
    const expected = [{ PASSED: "p", OWN: "$PASSED" }, args, dirname(command)];
    assert.deepEqual(JSON.parse(found.get("key") ?? ""), expected);
  });

  /** The program starts a child that holds the output open, writes both process ids to a file and keeps running. */
  const family = (file: string) => `
    const child = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: ['ignore', 'inherit', 'ignore'] });
    require('node:fs').writeFileSync(${JSON.stringify(file)}, JSON.stringify([process.pid, child.pid]));
    process.stdout.write(' ');
    setInterval(() => {}, 1000);`;

  it("is killed with its children on timeout, and when the gateway stops", async (t) => {
    for (const stops of [false, true]) {
      const root = directory(t);
      const file = join(root, "pids");
      const command = await program(join(root, "find"), family(file));
      const stop = new AbortController();
      const clock = createFakeClock();
      const provider = providerWith({ command, timeoutMs: 1_500 });
      const lookup = createExecSource({ clock }).resolve(provider, ["key"], stop.signal);
      const refused = assert.rejects(lookup, because(stops ? /the lookup was stopped/u : /took longer/u));
      let pids = "";
      while (!pids.endsWith("]")) pids = await readFile(file, "utf8").catch(() => "");
      if (stops) stop.abort();
      else await clock.advance(1_500);
      await refused;
      for (const pid of JSON.parse(pids) as number[]) await ended(pid);
    }
  });

  it("is not started when the gateway has stopped", async (t) => {
    const command = await program(join(directory(t), "find"), good);
    await assert.rejects(
      source.resolve(providerWith({ command }), ["key"], AbortSignal.abort()),
      because(/was stopped/u),
    );
  });
});

describe("the path of a program", { timeout: 120_000 }, () => {
  async function scene(t: TestContext) {
    const root = directory(t);
    const command = await program(join(root, "find"), good);
    const via = (path: string, settings: object = {}, own = source) =>
      own.resolve(providerWith({ command: path, ...settings }), ["key"], signal);
    return { root, command, via };
  }

  it("may be a symbolic link only with allowSymlinkCommand", async (t) => {
    const { command, via } = await scene(t);
    await symlink(command, `${command}.link`);
    await assert.rejects(
      via(`${command}.link`),
      because(/is a symbolic link; name the program itself, or set allowSymlinkCommand/u),
    );
    assert.equal((await via(`${command}.link`, { allowSymlinkCommand: true })).get("key"), CANARY);
  });

  it("is refused when others can write it, also behind a link, unless allowInsecurePath is set", async (t) => {
    const { command, via } = await scene(t);
    const link = `${command}.link`;
    await symlink(command, link);
    for (const mode of [0o720, 0o702]) {
      await chmod(command, mode);
      await assert.rejects(via(command), because(/can be written by others; run: chmod go-w/u));
      await assert.rejects(via(link, { allowSymlinkCommand: true }), because(/can be written by others/u));
      assert.equal((await via(command, { allowInsecurePath: true })).get("key"), CANARY);
    }
  });

  it("is refused in a directory in which every user may replace it", async (t) => {
    const { root, via } = await scene(t);
    await mkdir(join(root, "open/inner"), { recursive: true });
    await chmod(join(root, "open"), 0o777);
    const command = await program(join(root, "open/inner/find"), good);
    await assert.rejects(via(command), because(/every user can replace files in .*open; run: chmod o-w/u));
    assert.equal((await via(command, { allowInsecurePath: true })).get("key"), CANARY);
  });

  it("is refused when it belongs to a user other than the gateway's and root", async (t) => {
    const { command, via } = await scene(t);
    const own = process.getuid?.() ?? assert.fail("no users here");
    if (own === 0) await chown(command, 54_321, 0);
    const stranger = createExecSource({ clock: systemClock, uid: own + 1 });
    await assert.rejects(via(command, {}, stranger), because(/belongs to another user; run: chown/u));
    assert.equal((await via(command, { allowInsecurePath: true }, stranger)).get("key"), CANARY);
  });

  it("must lie in a trusted directory after links are resolved", async (t) => {
    const { root, command, via } = await scene(t);
    await mkdir(join(root, "bin"));
    await mkdir(join(root, "bin-2"));
    const inside = await program(join(root, "bin/find"), good);
    const beside = await program(join(root, "bin-2/find"), good);
    await symlink(command, join(root, "bin/escape"));
    const trustedDirs = [join(root, "bin"), join(root, "none")];
    assert.equal((await via(inside, { trustedDirs })).get("key"), CANARY);
    for (const outside of [command, beside]) {
      await assert.rejects(via(outside, { trustedDirs }), because(/is outside of trustedDirs/u));
    }
    const escape = via(join(root, "bin/escape"), { trustedDirs, allowSymlinkCommand: true });
    await assert.rejects(escape, because(/is outside of trustedDirs/u));
    await assert.rejects(via(inside, { trustedDirs: [] }), because(/is outside of trustedDirs/u));
  });

  it("must name a program that can be started", async (t) => {
    const { root, command, via } = await scene(t);
    await assert.rejects(via(join(root, "none")), because(/does not exist; install it, or correct command/u));
    await assert.rejects(via(join(command, "below")), because(/does not exist/u));
    await assert.rejects(via(root), because(/is not a program/u));
    await chmod(command, 0o600);
    await assert.rejects(via(command), because(/cannot be started \(EACCES\)/u));
    await assert.rejects(via(process.execPath, { args: ["a\0b"] }), because(/cannot be started/u));
  });

  const ids: [id: string, ok: boolean][] = [
    ["a", true],
    ["op://vault/item/field", true],
    ["op:vault/item_1.field-x", true],
    ["9", true],
    [`a${"b".repeat(255)}`, true],
    [`a${"b".repeat(256)}`, false],
    ["", false],
    ["/a", false],
    ["-a", false],
    ["a b", false],
    ["a\n", false],
    ["ä", false],
  ];
  it("takes ids of letters, digits and ._:/- that start with a letter or digit", () => {
    for (const [id, ok] of ids)
      assert.equal(source.checkId(id, providerWith({ command: "/a" })) === undefined, ok, id.slice(0, 30));
  });
});
