import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import { refusal } from "@svc/sdk/errors";
import { type CommandRunOptions, runCommand } from "@svc/sdk/testing";
import commands from "../../../plugins/agents/cli.ts";
import { temporaryDirectory } from "./temporary.ts";

const files = [
  { name: "AGENTS.md", path: "/w/AGENTS.md", missing: false, size: 12, updatedAtMs: 1 },
  { name: "SOUL.md", path: "/w/SOUL.md", missing: true },
];
const by = { principal: { id: "device:\u202ex", provenance: "device" }, sessionKey: "agent:ada:main" };
const versions = [
  { name: "SOUL.md", version: 10, at: 1_000, how: "write", ...by, size: 2_000_000, sha256: "x", isKept: false },
  { name: "USER.md", version: 1, at: 0, how: "outside", isKept: true },
];
const diff = "--- SOUL.md (version 1)\n+++ SOUL.md (version 2)\n@@ -1 +1 @@\n-a\tb\n+\u001b[2Jgone\r\n";
const answers: Record<string, unknown> = {
  "agents.list": {
    defaultId: "main",
    agents: [{ id: "main" }, { id: "ada", name: "Ada\u001b[2J", identity: { emoji: "🦉" } }],
  },
  "agent.identity.get": { agentId: "ada", name: "Ada", avatar: "🦉", emoji: "🦉" },
  "agents.files.list": { agentId: "ada", workspace: "/w", files },
  "agents.files.get": { file: { ...files[0], content: "# Rules\n" } },
  "agents.files.set": { ok: true, file: files[0] },
  "agents.files.log": { agentId: "ada", versions },
  "agents.files.diff": { agentId: "ada", name: "SOUL.md", from: 1, to: 2, diff },
  "agents.files.restore": { ok: true, agentId: "ada", workspace: "/w", version: 4, file: files[0] },
  "agents.create": { ok: true, agentId: "ada", name: "Ada", workspace: "/w" },
  "agents.update": { ok: true, agentId: "ada" },
  "agents.delete": { ok: true, agentId: "ada", removedBindings: 2, trash: "/s/trash/x", kept: ["/w: why"] },
};

const run = (name: string, args: string[], { answers: given, ...options }: CommandRunOptions = {}) =>
  runCommand(commands, name, { ...options, args, answers: { ...answers, ...given } });

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
      "agents files",
      ["log", "ada"],
      {},
      [
        String.raw`SOUL.md  10  1970-01-01 00:00:01Z  2000000 bytes (not kept)  write    device:\u202ex in agent:ada:main`,
        "USER.md  1   1970-01-01 00:00:00Z  no file                   outside",
      ],
      READ,
    ],
    [
      "agents files",
      ["diff", "SOUL.md"],
      {},
      ["--- SOUL.md (version 1)", "+++ SOUL.md (version 2)", "@@ -1 +1 @@", "-a\tb", String.raw`+\u001b[2Jgone\u000d`],
      READ,
    ],
    [
      "agents files",
      ["restore", "ada", "AGENTS.md", "3"],
      {},
      ["/w/AGENTS.md was restored, as in version 3; the newest version is 4"],
      ADMIN,
    ],
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
      ["Agent ada was deleted", "Bindings removed with it: 2", "Its files are in /s/trash/x", "Kept: /w: why"],
      ADMIN,
    ],
  ];
  for (const [verb, args, options, lines, scopes] of shown) {
    it(`${verb} ${args.join(" ")} prints lines, or one value, with no more authority than it needs`, async () => {
      const told = await run(verb, args, { options });
      assert.deepEqual(told.printed, lines);
      assert.deepEqual(told.scopes, scopes);
      const { printed } = await run(verb, args, { options, json: true });
      assert.deepEqual([printed.length, typeof printed[0]], [1, "object"], "--json prints one value");
    });
  }

  it("shows an agent with its files", async () => {
    const { printed } = await run("agents show", ["ada"]);
    assert.deepEqual(printed.slice(0, 2), ["Agent: ada", "Name: Ada"]);
    assert.ok(printed.includes("Workspace: /w"));
  });

  const asked: [verb: string, args: string[], given: CommandRunOptions, call: unknown[]][] = [
    ["agents identity", [], {}, ["agent.identity.get", {}]],
    [
      "agents create",
      ["Ada"],
      { options: { workspace: "ada", emoji: "🦉" } },
      ["agents.create", { name: "Ada", workspace: join(process.cwd(), "ada"), emoji: "🦉" }],
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
  const versionCalls: [args: string[], method: string, params: object][] = [
    [["log"], "log", { limit: 500 }],
    [["log", "ada"], "log", { agentId: "ada", limit: 500 }],
    [["log", "SOUL.md"], "log", { name: "SOUL.md", limit: 500 }],
    [["diff", "SOUL.md"], "diff", { name: "SOUL.md" }],
    [["diff", "SOUL.md", "0"], "diff", { name: "SOUL.md", from: 0 }],
    [["diff", "ada", "SOUL.md", "1", "3"], "diff", { agentId: "ada", name: "SOUL.md", from: 1, to: 3 }],
    [["restore", "SOUL.md", "3"], "restore", { name: "SOUL.md", version: 3 }],
    [["restore", "ada", "SOUL.md", "3"], "restore", { agentId: "ada", name: "SOUL.md", version: 3 }],
  ];
  for (const [args, method, params] of versionCalls)
    asked.push(["agents files", args, {}, [`agents.files.${method}`, params]]);
  for (const [verb, args, given, call] of asked) {
    it(`${verb} ${args.join(" ")} asks for ${JSON.stringify(call[1])}`, async () => {
      assert.deepEqual((await run(verb, args, given)).asked, [call]);
    });
  }

  it("sends a file", async (t) => {
    const file = join(await temporaryDirectory(t), "soul.md");
    await writeFile(file, "\ufeffkind");
    const { asked: calls } = await run("agents files", ["set", "ada", "SOUL.md", file]);
    assert.deepEqual(calls, [["agents.files.set", { agentId: "ada", name: "SOUL.md", content: "\ufeffkind" }]]);
  });

  const missing = { "agents.files.get": { file: { name: "SOUL.md", path: "/w/SOUL.md", missing: true } } };
  const unknownVersion = { "agents.files.restore": new GatewayError("NOT_FOUND", "there is no version 9 of SOUL.md") };
  const unknown = { "agents.delete": refusal("UNKNOWN_AGENT", 'no agent "x"') };
  const refused: [what: string, verb: string, args: string[], given: CommandRunOptions, next: RegExp][] = [
    ["no workspace", "agents create", ["Ada"], {}, /Next: svc agents create "Ada" --workspace <dir>/],
    ["nothing to change", "agents update", ["ada"], {}, /Next: svc agents update --help/],
    ["other words", "agents files", ["put", "ada", "SOUL.md"], {}, /Next: svc agents files --help/],
    ["a name too few", "agents files", ["get", "ada"], {}, /Next: svc agents files --help/],
    ["a restore without a version", "agents files", ["restore", "SOUL.md"], {}, /Next: svc agents files --help/],
    ["a version too many", "agents files", ["diff", "SOUL.md", "1", "2", "3"], {}, /Next: svc agents files --help/],
    [
      "a version that is no number",
      "agents files",
      ["diff", "SOUL.md", "1\u001b"],
      {},
      /"1\\u001b" is not a version number\nNext: svc agents files log$/,
    ],
    [
      "a version that is not there",
      "agents files",
      ["restore", "SOUL.md", "9"],
      { answers: unknownVersion },
      /no version 9 of SOUL\.md\nNext: svc agents files log$/,
    ],
    [
      "a missing file",
      "agents files",
      ["get", "ada", "SOUL.md"],
      { answers: missing },
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
    ["an agent that is not there", "agents delete", ["x"], { answers: unknown }, /no agent "x"\nNext: svc agents list/],
    [
      "a model that is not there",
      "agents update",
      ["x"],
      { options: { model: "y" }, answers: { "agents.update": new GatewayError("NOT_FOUND", 'no model "y"') } },
      /no model "y"\nNext: svc models list$/,
    ],
  ];
  for (const [what, verb, args, given, next] of refused) {
    it(`refuses ${what} and says what to do next`, async () => {
      const { error, message } = await run(verb, args, given);
      assert.equal(error?.name, "GatewayError");
      assert.match(message, next);
    });
  }

  it("says that versions are equal, and that there are none", async () => {
    const equal = { "agents.files.diff": { agentId: "ada", name: "SOUL.md", from: 1, to: 2, diff: "" } };
    const { printed } = await run("agents files", ["diff", "SOUL.md"], { answers: equal });
    assert.deepEqual(printed, ["Versions 1 and 2 of SOUL.md are equal"]);
    const none = { "agents.files.log": { agentId: "ada", versions: [] } };
    const log = await run("agents files", ["log", "ada"], { answers: none });
    assert.deepEqual(log.printed, ["No versions of files of agent ada are stored yet"]);
  });

  it("passes other refusals on as they are", async () => {
    const refusal = new GatewayError("INVALID_REQUEST", "agents.list is not in this file");
    const { error } = await run("agents delete", ["x"], { answers: { "agents.delete": refusal } });
    assert.equal(error, refusal);
  });
});
