import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import type { CommandContext } from "@svc/sdk/cli";
import { refusal } from "@svc/sdk/errors";
import commands from "../../../plugins/agents/cli.ts";
import { temporaryDirectory } from "./temporary.ts";

type Client = Awaited<ReturnType<CommandContext["connect"]>>;

const files = [
  { name: "AGENTS.md", path: "/w/AGENTS.md", missing: false, size: 12, updatedAtMs: 1 },
  { name: "SOUL.md", path: "/w/SOUL.md", missing: true },
];
const answers: Record<string, unknown> = {
  "agents.list": {
    defaultId: "main",
    agents: [{ id: "main" }, { id: "ada", name: "Ada\u001b[2J", identity: { emoji: "🦉" } }],
  },
  "agent.identity.get": { agentId: "ada", name: "Ada", avatar: "🦉", emoji: "🦉" },
  "agents.files.list": { agentId: "ada", workspace: "/w", files },
  "agents.files.get": { file: { ...files[0], content: "# Rules\n" } },
  "agents.files.set": { ok: true, file: files[0] },
  "agents.create": { ok: true, agentId: "ada", name: "Ada", workspace: "/w" },
  "agents.update": { ok: true, agentId: "ada" },
  "agents.delete": { ok: true, agentId: "ada", removedBindings: 2, trash: "/s/trash/x", kept: ["/w: why"] },
};

interface Given {
  readonly options?: Record<string, unknown>;
  readonly json?: boolean;
  readonly input?: string;
  readonly given?: Record<string, unknown>;
}

/** Runs a verb against a gateway that gives these answers; an `Error` is a refusal. */
async function run(name: string, args: string[], { options = {}, json = false, input = "", given = {} }: Given = {}) {
  const printed: unknown[] = [];
  const calls: unknown[] = [];
  const scopes: unknown[] = [];
  let open = 0;
  const client = {
    async call(method: { name: string }, params: unknown) {
      calls.push([method.name, params]);
      const value = { ...answers, ...given }[method.name];
      if (value instanceof Error) throw value;
      return value;
    },
    close: async () => void open--,
  } as unknown as Client; // the parts the commands use
  const context: CommandContext = {
    args,
    options,
    json,
    async connect(wanted) {
      scopes.push(wanted?.scopes);
      open++;
      return client;
    },
    print: (value) => void printed.push(value),
    stateDir: "/nowhere",
    target: () => Promise.reject(new Error("not asked for")),
    note: () => undefined,
    input: Readable.from([input]),
    output: process.stdout,
  };
  const verb = commands.find((command) => command.name === name) ?? assert.fail(`no verb ${name}`);
  try {
    return { code: await verb.run(context), printed, calls, scopes };
  } finally {
    assert.equal(open, 0);
  }
}

const READ = ["operator.read"];
const ADMIN = ["operator.read", "operator.admin"];

describe("svc agents", () => {
  const shown: [verb: string, args: string[], options: Record<string, unknown>, lines: string[], scopes: string[]][] = [
    ["agents list", [], {}, ["main  (default)", "ada   🦉  Ada [2J"], READ],
    ["agents identity", ["ada"], {}, ["Agent: ada", "Name: Ada", "Avatar: 🦉", "Emoji: 🦉"], READ],
    ["agents files", ["ada"], {}, ["Workspace: /w", "  AGENTS.md  12 bytes", "  SOUL.md    missing"], READ],
    ["agents files", ["get", "ada", "AGENTS.md"], {}, ["# Rules"], READ],
    ["agents files", ["set", "ada", "AGENTS.md"], {}, ["Wrote 12 bytes to /w/AGENTS.md"], ADMIN],
    [
      "agents create",
      ["Ada"],
      { workspace: "~/ada" },
      ["Agent ada was created; its files are in /w", "Next: svc agents files ada"],
      ADMIN,
    ],
    ["agents update", ["ada"], { name: "A" }, ["Agent ada was changed"], ADMIN],
    [
      "agents delete",
      ["ada"],
      {},
      ["Agent ada was deleted", "Bindings removed with it: 2", "Its files are in /s/trash/x", "Stays: /w: why"],
      ADMIN,
    ],
  ];
  for (const [verb, args, options, lines, scopes] of shown) {
    it(`${verb} ${args.join(" ")} prints lines, with no more authority than it needs`, async () => {
      const told = await run(verb, args, { options });
      assert.deepEqual(told.printed, lines);
      assert.deepEqual(told.scopes, [scopes]);
    });

    it(`${verb} ${args.join(" ")} --json prints one value`, async () => {
      const told = await run(verb, args, { options, json: true });
      assert.equal(told.printed.length, 1);
      assert.equal(typeof told.printed[0], "object");
    });
  }

  it("shows an agent with its files", async () => {
    const { printed } = await run("agents show", ["ada"]);
    assert.deepEqual(printed.slice(0, 2), ["Agent: ada", "Name: Ada"]);
    assert.ok(printed.includes("Workspace: /w"));
  });

  const asked: [verb: string, args: string[], given: Given, call: unknown[]][] = [
    ["agents identity", [], {}, ["agent.identity.get", {}]],
    [
      "agents create",
      ["Ada"],
      { options: { workspace: "/w", emoji: "🦉" } },
      ["agents.create", { name: "Ada", workspace: "/w", emoji: "🦉" }],
    ],
    [
      "agents create",
      ["Ada"],
      { options: { workspace: "ada" } },
      ["agents.create", { name: "Ada", workspace: join(process.cwd(), "ada") }],
    ],
    [
      "agents create",
      ["Ada"],
      { options: { workspace: "~/ada" } },
      ["agents.create", { name: "Ada", workspace: "~/ada" }],
    ],
    [
      "agents update",
      ["ada"],
      { options: { model: "p/x", avatar: "A" } },
      ["agents.update", { agentId: "ada", model: "p/x", avatar: "A" }],
    ],
    [
      "agents delete",
      ["ada"],
      { options: { keepFiles: true } },
      ["agents.delete", { agentId: "ada", deleteFiles: false }],
    ],
    [
      "agents files",
      ["set", "ada", "SOUL.md", "-"],
      { input: "kind\n" },
      ["agents.files.set", { agentId: "ada", name: "SOUL.md", content: "kind\n" }],
    ],
  ];
  for (const [verb, args, given, call] of asked) {
    it(`${verb} ${args.join(" ")} asks for ${JSON.stringify(call[1])}`, async () => {
      assert.deepEqual((await run(verb, args, given)).calls, [call]);
    });
  }

  it("sends a file", async (t) => {
    const file = join(await temporaryDirectory(t), "soul.md");
    await writeFile(file, "\ufeffkind");
    const { calls } = await run("agents files", ["set", "ada", "SOUL.md", file]);
    assert.deepEqual(calls, [["agents.files.set", { agentId: "ada", name: "SOUL.md", content: "\ufeffkind" }]]);
  });

  const missing = { "agents.files.get": { file: { name: "SOUL.md", path: "/w/SOUL.md", missing: true } } };
  const unknown = { "agents.delete": refusal("UNKNOWN_AGENT", 'no agent "x"') };
  const refused: [what: string, verb: string, args: string[], given: Given, next: RegExp][] = [
    ["no workspace", "agents create", ["Ada"], {}, /Next: svc agents create "Ada" --workspace <dir>/],
    ["nothing to change", "agents update", ["ada"], {}, /Next: svc agents update --help/],
    ["other words", "agents files", ["put", "ada", "SOUL.md"], {}, /Next: svc agents files --help/],
    ["a name too few", "agents files", ["get", "ada"], {}, /Next: svc agents files --help/],
    [
      "a missing file",
      "agents files",
      ["get", "ada", "SOUL.md"],
      { given: missing },
      /Next: svc agents files set ada SOUL\.md/,
    ],
    [
      "a source that is not there",
      "agents files",
      ["set", "ada", "SOUL.md", "/nowhere/x"],
      {},
      /ENOENT[^]*Next: name another/,
    ],
    [
      "too many bytes",
      "agents files",
      ["set", "ada", "SOUL.md"],
      { input: "x".repeat(1024 * 1024 + 1) },
      /Next: shorten it/,
    ],
    ["an agent that is not there", "agents delete", ["x"], { given: unknown }, /no agent "x"\nNext: svc agents list/],
    [
      "a model that is not there",
      "agents update",
      ["x"],
      { options: { model: "y" }, given: { "agents.update": new GatewayError("NOT_FOUND", 'no model "y"') } },
      /no model "y"\nNext: svc models list$/,
    ],
  ];
  for (const [what, verb, args, given, next] of refused) {
    it(`refuses ${what} and says what to do next`, () =>
      assert.rejects(run(verb, args, given), { name: "GatewayError", message: next }));
  }

  it("passes other refusals on as they are", async () => {
    const refusal = new GatewayError("INVALID_REQUEST", "agents.list does not stand here");
    await assert.rejects(run("agents delete", ["x"], { given: { "agents.delete": refusal } }), refusal);
  });
});
