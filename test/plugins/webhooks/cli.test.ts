import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { GatewayError } from "@svc/sdk";
import { refusal } from "@svc/sdk/errors";
import { runCommand } from "@svc/sdk/testing";
import commands from "../../../plugins/webhooks/cli.ts";
import { BUILD, FAILED, MAIL, ROWS, TRIAL } from "./sample.ts";

const answers: Record<string, unknown> = {
  "webhooks.list": { enabled: true, path: "/hooks", transformsDir: "/t", mappings: ROWS },
  "webhooks.check": { ok: true, problems: [] },
  "webhooks.try": TRIAL,
  "webhooks.runs": { runs: [FAILED] },
  "webhooks.run": { run: FAILED },
  "webhooks.replay": { run: { ...FAILED, runId: "run-2", replayOf: "run-1" } },
  "webhooks.enable": { id: "build", enabled: true, changed: true },
  "webhooks.disable": { id: "build", enabled: false, changed: false },
  "webhooks.init": { directory: "/t", written: ["/t/tsconfig.json"] },
};

const TRY = { payload: "-" };

interface Given {
  readonly options?: Record<string, unknown>;
  readonly json?: boolean;
  readonly input?: string | Uint8Array;
  readonly given?: Record<string, unknown>;
}

/** Runs a command against a gateway with these answers; an `Error` is a refusal. */
const run = (name: string, args: readonly string[] = [], { given = {}, ...more }: Given = {}) =>
  runCommand(commands, `hooks ${name}`, { args, answers: { ...answers, ...given }, ...more });

async function file(t: TestContext, content: string | Uint8Array): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "svc-test-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  await writeFile(join(directory, "payload.json"), content);
  return join(directory, "payload.json");
}

describe("svc hooks", () => {
  const headers = { "x-event": "push", "x-tag": "a, b: c", "x-empty": "" };
  const header = ["X-Event: push", "x-tag:a", "X-Tag: b: c", "X-Empty:"];
  const filter = { status: "failed", mapping: "build" };
  const asks: [name: string, args: string[], given: Given, params: unknown, scope: string][] = [
    ["list", [], {}, {}, "operator.read"],
    ["runs", [], {}, {}, "operator.read"],
    ["runs", [], { options: { ...filter, limit: "7" } }, { ...filter, limit: 7 }, "operator.read"],
    ["replay", ["run-1"], {}, { runId: "run-1" }, "operator.admin"],
    ["enable", ["build"], {}, { id: "build" }, "operator.admin"],
    ["disable", ["build"], {}, { id: "build" }, "operator.admin"],
    ["init", [], {}, {}, "operator.admin"],
    [
      "try",
      ["build"],
      { options: { payload: "-", path: "build?x=1", header }, input: "\uFEFF[]" },
      { mapping: "build", payload: [], headers, path: "build?x=1" },
      "operator.write",
    ],
  ];
  for (const [name, args, given, params, scope] of asks) {
    it(`${name} ${JSON.stringify(given.options ?? {})} asks with ${scope} and no more, and prints one JSON value`, async () => {
      const { asked, scopes, printed } = await run(name, args, { ...given, json: true });
      assert.deepEqual([asked, scopes], [[[`webhooks.${name}`, params]], [scope]]);
      assert.equal(printed.length, 1);
      assert.equal(typeof printed[0], "object");
    });
  }

  it("info, check and runs of one id ask with operator.read", async () => {
    const check = await run("check", [], { json: true });
    assert.deepEqual(
      check.asked.map(([method]) => method),
      ["webhooks.list", "webhooks.check"],
    );
    assert.deepEqual(check.printed, [{ enabled: true, ok: true, problems: [] }]);
    const info = await run("info", ["build"], { json: true });
    assert.deepEqual([info.asked, info.printed], [[["webhooks.list", {}]], [BUILD]]);
    const one = await run("runs", ["run-1"], { json: true });
    assert.deepEqual([one.asked, one.printed.length], [[["webhooks.run", { runId: "run-1" }]], 1]);
    for (const { scopes } of [check, info, one]) assert.deepEqual(scopes, ["operator.read"]);
  });

  it("check ends with 1 when something is an error", async () => {
    const given = { "webhooks.check": { ok: false, problems: BUILD.problems } };
    const { code, printed } = await run("check", [], { given });
    assert.deepEqual([code, printed.at(-1)], [1, "1 error, 1 warning"]);
    assert.equal((await run("check")).code, 0);
  });

  it("try ends with 1 when the sender would be refused", async () => {
    const given = { "webhooks.try": { ...TRIAL, response: { status: 400 } } };
    assert.equal((await run("try", ["build"], { options: TRY, input: "{}", given })).code, 1);
    assert.equal((await run("try", ["build"], { options: TRY, input: "{}" })).code, 0);
  });

  it("info shows all the mappings of a preset with one id", async () => {
    const given = { "webhooks.list": { mappings: [MAIL, { ...MAIL, path: "/hooks/mail/2" }] } };
    const { printed } = await run("info", ["mail"], { given });
    assert.deepEqual(
      printed.filter((line) => String(line).startsWith("path")),
      ["path    /hooks/mail", "path    /hooks/mail/2"],
    );
  });

  it("says what was done", async () => {
    const said = async (name: string, arg: string, given = {}) => (await run(name, [arg], { given })).printed;
    assert.deepEqual(await said("enable", "build"), ["enabled build"]);
    assert.deepEqual(await said("disable", "build"), ["build is already disabled; nothing was written"]);
    assert.deepEqual(await said("init", ""), ["wrote /t/tsconfig.json", "put transforms into /t"]);
    const none = { "webhooks.init": { directory: "/t", written: [] } };
    assert.deepEqual(await said("init", "", none), ["all files exist already", "put transforms into /t"]);
    const replayed = ["run-1 was accepted again as run-2", "Next: svc hooks runs run-2"];
    assert.deepEqual(await said("replay", "run-1"), replayed);
    assert.equal((await said("runs", "run-1")).at(-1), "Next: svc hooks replay run-1");
    for (const [name, first] of [
      ["list", /^#  ID /],
      ["runs", /^RUN /],
      ["try", /^skipped$/],
    ] as const)
      assert.match(String((await run(name, [], { options: TRY, input: "{}" })).printed[0]), first);
  });
});

describe("a payload", () => {
  it("is read from a file", async (t) => {
    const { asked } = await run("try", ["build"], { options: { payload: await file(t, '{ "id": 7 }\n') } });
    assert.deepEqual(asked, [["webhooks.try", { mapping: "build", payload: { id: 7 }, headers: {} }]]);
  });

  it("that is missing is asked for, with an example", async () => {
    const { message, asked } = await run("try", ["build"]);
    assert.match(message, /^hooks try needs a request body\nNext: e\.g\. svc hooks try build --payload payload\.json/);
    assert.deepEqual(asked, []);
  });

  it("that is not there or is a directory is named", async () => {
    const gone = join(tmpdir(), "no-such-payload.json");
    assert.equal(
      (await run("try", ["build"], { options: { payload: gone } })).message,
      `${gone} cannot be read: it does not exist\nNext: name another file, or - for standard input`,
    );
    assert.match((await run("try", ["build"], { options: { payload: tmpdir() } })).message, /it is a directory/);
  });

  const bad: [what: string, content: string | Uint8Array, message: RegExp][] = [
    ["is no JSON", '{\n  "a": 1,\n  b: 2\n}', /payload\.json is not JSON: line 3, column 3: "b"\nNext: fix it there/],
    ["ends too early", '{"a": [1, 2', /is not JSON: line 1, column 12, where the text ends/],
    ["is empty", " \n", /payload\.json is empty\nNext: send a request body, at least \{\}/],
    ["is no UTF-8", Buffer.from([0x22, 0xff, 0x22]), /is not UTF-8 text/],
    ["is too large", `"${"x".repeat(16 * 1024 * 1024)}"`, /is larger than 16777216 bytes\nNext: try a shorter/],
  ];
  for (const [what, content, message] of bad) {
    it(`that ${what} is refused before the gateway is called`, async (t) => {
      const fromFile = await run("try", ["build"], { options: { payload: await file(t, content) } });
      assert.match(fromFile.message, message);
      const fromInput = await run("try", ["build"], { options: TRY, input: content });
      assert.match(fromInput.message.replace("standard input", "payload.json"), message);
      assert.deepEqual([fromFile.asked, fromInput.asked], [[], []]);
    });
  }
});

describe("what is wrong on the command line", () => {
  const header = (text: string) => ({ payload: "-", header: [text] });
  const noHeader = /^--header "[^"]*" is not a header\nNext: use the form/;
  const limit = (number: string) =>
    new RegExp(`^--limit takes a whole number from 1 to 1000, not "${number}"; e\\.g\\. `);
  const rows: [what: string, args: string[], options: Record<string, unknown>, message: RegExp][] = [
    ["a header without a colon", ["try", "build"], header("X-Event"), noHeader],
    ["a header without a name", ["try", "build"], header(": x"), noHeader],
    ["a header name with a blank", ["try", "build"], header("X Event: x"), noHeader],
    ["a header with a line break", ["try", "build"], header("X: a\nY: b"), /is not a header/],
    [
      "an unknown status",
      ["runs"],
      { status: "broken" },
      /^--status takes queued, running, done, failed, not "broken"/,
    ],
    ["a limit of none", ["runs"], { limit: "0" }, limit("0")],
    ["a limit too large", ["runs"], { limit: "1001" }, limit("1001")],
    ["a limit that is a word", ["runs"], { limit: "all" }, limit("all")],
    ["a run and a filter", ["runs", "run-1"], { status: "failed" }, /^a run id selects one run; remove the other/],
  ];
  for (const [what, [name = "", ...args], options, message] of rows) {
    it(`${what} is named`, async () => {
      const came = await run(name, args, { options, input: "{}" });
      assert.match(came.message, message);
      assert.deepEqual([came.code, came.asked], [1, []]);
    });
  }
});

describe("a refusal of the gateway", () => {
  const unknown = (text: string) => new GatewayError("NOT_FOUND", text);
  const rows: [line: string, method: string, error: GatewayError, next: string][] = [
    ["enable x", "webhooks.enable", unknown('no mapping "x"'), "svc hooks list"],
    ["replay x", "webhooks.replay", new GatewayError("CONFLICT", "replayed before"), "svc hooks runs"],
    ["runs x", "webhooks.run", unknown("no run"), "svc hooks runs"],
    ["list", "webhooks.list", refusal("UNKNOWN_METHOD", "unknown method"), "svc plugins why webhooks"],
  ];
  for (const [line, method, error, next] of rows) {
    it(`to ${line} names the next step`, async () => {
      const [name = "", ...args] = line.split(" ");
      const { message } = await run(name, args, { given: { [method]: error } });
      assert.equal(message, `${error.message}\nNext: ${next}`);
    });
  }

  it("is made for a mapping that is not listed", async () => {
    const expected = 'no mapping "nope"; configured: wake, build, mapping-2, mail\nNext: svc hooks list';
    assert.equal((await run("info", ["nope"])).message, expected);
  });

  it("stays the very same one when it names the next step itself", async () => {
    const error = new GatewayError("UNAVAILABLE", "nobody answers\nNext: svc gateway run");
    assert.equal((await run("list", [], { given: { "webhooks.list": error } })).error, error);
  });

  it("keeps its code, its details and how long to wait", async () => {
    const error = new GatewayError("UNAVAILABLE", "no storage", { retryAfterMs: 500, details: { a: 1 } });
    const came = (await run("runs", [], { given: { "webhooks.runs": error } })).error;
    assert.ok(came instanceof GatewayError);
    assert.deepEqual([came.code, came.details, came.retryAfterMs], ["UNAVAILABLE", { a: 1 }, 500]);
  });
});
