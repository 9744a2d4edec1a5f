import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, it, type TestContext } from "node:test";
import { GatewayError, type Method } from "@svc/sdk";
import type { CommandContext } from "@svc/sdk/cli";
import { refusal } from "@svc/sdk/errors";
import commands from "../../../plugins/webhooks/cli.ts";
import { BUILD, FAILED, MAIL, ROWS, TRIAL } from "./sample.ts";

type Client = Awaited<ReturnType<CommandContext["connect"]>>;

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

interface Given {
  readonly options?: Record<string, unknown>;
  readonly json?: boolean;
  readonly input?: string | Uint8Array;
  readonly given?: Record<string, unknown>;
}

/** Runs a command against a gateway with these answers; an `Error` is a refusal. */
async function run(
  name: string,
  args: readonly string[] = [],
  { options = {}, json = false, input = "", given = {} }: Given = {},
) {
  const printed: unknown[] = [];
  const asked: [method: string, params: unknown][] = [];
  const scopes: unknown[] = [];
  let open = 0;
  const client = {
    call: async ({ name: method }: Method, params: unknown) => {
      asked.push([method, params]);
      const value = { ...answers, ...given }[method];
      if (value instanceof Error) throw value;
      return value;
    },
    close: async () => void (open -= 1),
  };
  const context = {
    args,
    options,
    json,
    connect: async (wanted: { scopes?: readonly string[] } = {}) => {
      open += 1;
      scopes.push(...(wanted.scopes ?? []));
      return client as unknown as Client;
    },
    print: (value: unknown) => void printed.push(value),
    input: Readable.from([Buffer.from(input)]),
  } as unknown as CommandContext; // the parts the commands use
  const command = commands.find((candidate) => candidate.name === `hooks ${name}`) ?? assert.fail(name);
  const [code, error] = await command.run(context).then(
    (exit) => [exit ?? 0, undefined] as const,
    (thrown: unknown) => [1, thrown as Error] as const,
  );
  assert.equal(open, 0, "every connection is closed");
  return { printed, asked, scopes, code, error, message: error?.message ?? "" };
}

async function file(t: TestContext, content: string | Uint8Array): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "svc-test-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  await writeFile(join(directory, "payload.json"), content);
  return join(directory, "payload.json");
}

it("svc hooks has the same verbs in package.json", async () => {
  const text = await readFile(new URL("../../../../plugins/webhooks/package.json", import.meta.url), "utf8");
  const { svc } = JSON.parse(text) as { svc: { commands: unknown } };
  assert.deepEqual(
    svc.commands,
    commands.map(({ name, summary }) => ({ name, summary })),
  );
});

describe("svc hooks", () => {
  const asks: [line: string, args: string[], given: Given, asked: unknown[], scope: string][] = [
    ["list", [], {}, [["webhooks.list", {}]], "operator.read"],
    ["info", ["build"], {}, [["webhooks.list", {}]], "operator.read"],
    [
      "check",
      [],
      {},
      [
        ["webhooks.list", {}],
        ["webhooks.check", {}],
      ],
      "operator.read",
    ],
    ["runs", [], {}, [["webhooks.runs", {}]], "operator.read"],
    [
      "runs",
      [],
      { options: { status: "failed", mapping: "build", limit: "7" } },
      [["webhooks.runs", { status: "failed", mapping: "build", limit: 7 }]],
      "operator.read",
    ],
    ["runs", ["run-1"], {}, [["webhooks.run", { runId: "run-1" }]], "operator.read"],
    ["replay", ["run-1"], {}, [["webhooks.replay", { runId: "run-1" }]], "operator.admin"],
    ["enable", ["build"], {}, [["webhooks.enable", { id: "build" }]], "operator.admin"],
    ["disable", ["build"], {}, [["webhooks.disable", { id: "build" }]], "operator.admin"],
    ["init", [], {}, [["webhooks.init", {}]], "operator.admin"],
    [
      "try",
      ["build"],
      { options: { payload: "-" }, input: '{"a":1}' },
      [["webhooks.try", { mapping: "build", payload: { a: 1 }, headers: {} }]],
      "operator.write",
    ],
    [
      "try",
      ["build"],
      {
        options: { payload: "-", path: "build?x=1", header: ["X-Event: push", "x-tag:a", "X-Tag: b: c", "X-Empty:"] },
        input: "\uFEFF[]",
      },
      [
        [
          "webhooks.try",
          {
            mapping: "build",
            payload: [],
            headers: { "x-event": "push", "x-tag": "a, b: c", "x-empty": "" },
            path: "build?x=1",
          },
        ],
      ],
      "operator.write",
    ],
  ];
  for (const [name, args, given, asked, scope] of asks) {
    it(`${[name, ...args].join(" ")} ${JSON.stringify(given.options ?? {})} asks with ${scope} and no more`, async () => {
      const came = await run(name, args, given);
      assert.deepEqual([came.asked, came.scopes, came.error], [asked, [scope], undefined]);
      assert.ok(came.printed.length > 0);
    });
  }

  it("prints exactly one JSON value with --json", async () => {
    for (const [name, args, given] of asks) {
      const { printed } = await run(name, args, { ...given, json: true });
      assert.equal(printed.length, 1);
      assert.equal(typeof printed[0], "object");
    }
    assert.deepEqual((await run("check", [], { json: true })).printed, [{ enabled: true, ok: true, problems: [] }]);
    assert.deepEqual((await run("info", ["build"], { json: true })).printed, [BUILD]);
  });

  it("check ends with 1 when something is an error", async () => {
    const given = { "webhooks.check": { ok: false, problems: BUILD.problems } };
    const { code, printed } = await run("check", [], { given });
    assert.deepEqual([code, printed.at(-1)], [1, "1 error, 1 warning"]);
    assert.equal((await run("check")).code, 0);
  });

  it("try ends with 1 when the sender would be refused", async () => {
    const given = { "webhooks.try": { ...TRIAL, response: { status: 400 } } };
    const options = { payload: "-" };
    assert.equal((await run("try", ["build"], { options, input: "{}", given })).code, 1);
    assert.equal((await run("try", ["build"], { options, input: "{}" })).code, 0);
  });

  it("info shows all the mappings of a preset with one id", async () => {
    const given = { "webhooks.list": { mappings: [MAIL, { ...MAIL, path: "/hooks/mail/2" }] } };
    const { printed } = await run("info", ["mail"], { given });
    assert.deepEqual(
      printed.filter((line) => String(line).startsWith("path")),
      ["path    /hooks/mail", "path    /hooks/mail/2"],
    );
  });

  it("says what was switched, and when nothing had to be", async () => {
    assert.deepEqual((await run("enable", ["build"])).printed, ["enabled build"]);
    assert.deepEqual((await run("disable", ["build"])).printed, ["build is already disabled; nothing was written"]);
  });

  it("says which files were written, or that they were there", async () => {
    assert.deepEqual((await run("init")).printed, ["wrote /t/tsconfig.json", "put transforms into /t"]);
    const given = { "webhooks.init": { directory: "/t", written: [] } };
    assert.deepEqual((await run("init", [], { given })).printed, ["all files exist already", "put transforms into /t"]);
  });

  it("prints the id of a replay", async () => {
    assert.deepEqual((await run("replay", ["run-1"])).printed, [
      "run-1 was accepted again as run-2",
      "Next: svc hooks runs run-2",
    ]);
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
      const fromInput = await run("try", ["build"], { options: { payload: "-" }, input: content });
      assert.match(fromInput.message.replace("standard input", "payload.json"), message);
      assert.deepEqual([fromFile.asked, fromInput.asked], [[], []]);
    });
  }
});

describe("what is wrong on the command line", () => {
  const rows: [what: string, name: string, args: string[], options: Record<string, unknown>, message: RegExp][] = [
    [
      "a header without a colon",
      "try",
      ["build"],
      { payload: "-", header: ["X-Event"] },
      /^--header "X-Event" is not a header\nNext: use the form/,
    ],
    ["a header without a name", "try", ["build"], { payload: "-", header: [": x"] }, /is not a header/],
    ["a header name with a blank", "try", ["build"], { payload: "-", header: ["X Event: x"] }, /is not a header/],
    ["a header with a line break", "try", ["build"], { payload: "-", header: ["X: a\nY: b"] }, /is not a header/],
    [
      "an unknown status",
      "runs",
      [],
      { status: "broken" },
      /^--status takes queued, running, done, failed, not "broken"/,
    ],
    [
      "a limit of none",
      "runs",
      [],
      { limit: "0" },
      /^--limit takes a whole number from 1 to 1000, not "0"; e\.g\. --limit 20/,
    ],
    ["a limit too large", "runs", [], { limit: "1001" }, /^--limit takes/],
    ["a limit that is a word", "runs", [], { limit: "all" }, /^--limit takes/],
    [
      "a run and a filter",
      "runs",
      ["run-1"],
      { status: "failed" },
      /^a run id selects one run; remove the other options/,
    ],
  ];
  for (const [what, name, args, options, message] of rows) {
    it(`${what} is named`, async () => {
      const came = await run(name, args, { options, input: "{}" });
      assert.match(came.message, message);
      assert.deepEqual([came.code, came.asked], [1, []]);
    });
  }
});

describe("a refusal of the gateway", () => {
  const rows: [name: string, args: string[], method: string, error: GatewayError, message: string][] = [
    [
      "info",
      ["nope"],
      "",
      new GatewayError("INTERNAL", "unused"),
      'no mapping "nope"; configured: wake, build, mapping-2, mail\nNext: svc hooks list',
    ],
    [
      "enable",
      ["x"],
      "webhooks.enable",
      new GatewayError("NOT_FOUND", 'no mapping "x"'),
      'no mapping "x"\nNext: svc hooks list',
    ],
    [
      "replay",
      ["x"],
      "webhooks.replay",
      new GatewayError("CONFLICT", "replayed before"),
      "replayed before\nNext: svc hooks runs",
    ],
    ["runs", ["x"], "webhooks.run", new GatewayError("NOT_FOUND", "no run"), "no run\nNext: svc hooks runs"],
    [
      "list",
      [],
      "webhooks.list",
      refusal("UNKNOWN_METHOD", "unknown method: webhooks.list"),
      "unknown method: webhooks.list\nNext: svc plugins why webhooks",
    ],
  ];
  for (const [name, args, method, error, message] of rows) {
    it(`to ${name} names the next step`, async () => {
      assert.equal((await run(name, args, { given: { [method]: error } })).message, message);
    });
  }

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
