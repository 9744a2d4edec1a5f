/** `svc export openclaw`: what was imported comes back the same, and what changed here is in it. */
// own process: it runs commands
// long: most tests run three commands and two gateways
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { outsideOrigin } from "@svc/sdk";
import type { GivenRecords, ImportRecord } from "@svc/sdk/import";
import { put } from "../../directory.ts";
import { startGatewayProcess } from "../../gateway-process.ts";
import { type Place, place, placeIn, withGateway } from "../../import-place.ts";
import { pathsIn, SECRETS } from "../../openclaw-state.ts";

/** All records that the state gives, by kind. Tokens of devices are left out: each gateway has its own. */
async function given(t: TestContext, here: Place): Promise<Record<string, ImportRecord[]>> {
  return withGateway(t, here, async (client) => {
    const { kinds } = (await client.request("import.kinds", {})) as { kinds: { kind: string; gives: boolean }[] };
    const found: Record<string, ImportRecord[]> = {};
    for (const { kind } of kinds.filter(({ gives }) => gives)) {
      const records: ImportRecord[] = (found[kind] = []);
      for (let after: string | undefined; ;) {
        const page = (await client.request("import.give", { kind, after })) as GivenRecords<ImportRecord>;
        records.push(...page.records.map((record) => withoutTokens(record)));
        if (page.next === undefined) break;
        after = page.next;
      }
    }
    return found;
  });
}

function withoutTokens(record: ImportRecord & { tokens?: readonly object[] }): ImportRecord {
  if (!record.tokens) return record;
  return { ...record, tokens: record.tokens.map((token) => ({ ...token, value: "", createdAt: 0 })) } as ImportRecord;
}

const settings = ({ stateDir }: Place) => JSON.parse(readFileSync(join(stateDir, "svc.json"), "utf8"));

interface Exported {
  readonly leftOut: readonly { readonly kind: string; readonly id: string }[];
  readonly written: Readonly<Record<string, { readonly count: number }>>;
}

async function exported(here: Place, to = join(here.home, "back")): Promise<Exported> {
  const { code, stdout, stderr } = await here.run("export", "openclaw", "--to", to, "--yes", "--json");
  assert.equal(code, 0, stderr + stdout);
  return JSON.parse(stdout) as Exported;
}

const configIn = (directory: string) => JSON.parse(readFileSync(join(directory, "openclaw.json"), "utf8"));

/** Values by device and role. */
function tokensIn(directory: string) {
  const text = readFileSync(join(directory, "devices/paired.json"), "utf8");
  const devices = Object.entries<{ tokens: Record<string, { token: string }> }>(JSON.parse(text));
  return devices.map(([id, { tokens }]) => [id, Object.entries(tokens).map(([role, { token }]) => [role, token])]);
}

describe("svc export openclaw", () => {
  for (const fixture of ["march/state", "latest/state", "half-moved/state"])
    it(`writes ${fixture} so that an import takes the same records and settings [A-15]`, async (t) => {
      const here = place(t, fixture);
      await here.report();
      const back = join(here.home, "back");
      const { leftOut } = await exported(here, back);
      const again = placeIn(here, ".svc-again");
      await again.report("--from", back);
      assert.deepEqual(await given(t, again), await given(t, here));
      if (fixture !== "march/state") return;
      assert.deepEqual(tokensIn(back), tokensIn(here.state), "devices that did not connect since the import");
      assert.deepEqual(leftOut, []);
      const text = JSON.stringify(settings(again)).replaceAll(again.stateDir, here.stateDir);
      const [main, ...others] = settings(here).agents.list;
      const list = [{ ...main, workspace: settings(here).agents.defaults.workspace }, ...others];
      assert.deepEqual(JSON.parse(text), { ...settings(here), agents: { ...settings(here).agents, list } });
    });

  it("has the settings that changed here, and names those that have no place there", async (t) => {
    const here = place(t);
    await here.report();
    for (const [path, value] of [
      ["gateway.port", "32111"],
      ["agents.defaults.maxToolRounds", "7"],
      ["models.providers.fake.apiKey", '"fake-key-2"'],
      ["agents.list", '[{"id":"main","default":true,"systemPrompt":"Be short."},{"id":"ops","name":"Ops"}]'],
    ] as const) {
      const { code, stderr } = await here.run("config", "set", path, value);
      assert.equal(code, 0, stderr);
    }
    assert.equal((await here.run("config", "unset", "hooks.presets")).code, 0);
    const { leftOut } = await exported(here);
    const back = configIn(join(here.home, "back"));
    assert.deepEqual(
      leftOut.map(({ kind, id }) => `${kind} ${id}`),
      ["setting agents.defaults.maxToolRounds", "setting agents.list[0].systemPrompt"],
    );
    assert.deepEqual(
      [back.gateway.port, back.models.providers.fake.apiKey, back.hooks.presets, back.hooks.enabled],
      [32_111, "fake-key-2", undefined, true],
    );
    const workspace = join(here.state, "workspace");
    assert.deepEqual(back.agents.list, [
      { id: "main", default: true, workspace },
      { id: "ops", name: "Ops", workspace: join(here.home, "back/workspace-ops") },
    ]);
    assert.equal(
      back.channels.telegram.botToken,
      "123456:throwaway-telegram-token",
      "what was not changed is as before",
    );
  });

  it("writes a state that never was imported, with its workspaces", async (t) => {
    const here = place(t);
    const gateway = { port: 32_112, auth: { token: "gw-throwaway-token-1" } };
    put(join(here.stateDir, "svc.json"), JSON.stringify({ gateway, tools: { profile: "coding" } }));
    await withGateway(t, here, async (client) => {
      await client.request("sessions.patch", { key: "main", label: "Notes" });
      await client.request("chat.inject", { sessionKey: "main", message: "a note" });
    });
    put(join(here.stateDir, "workspace/MEMORY.md"), "- likes tea\n");
    const { written } = await exported(here);
    const back = join(here.home, "back");
    assert.deepEqual([written["session"]?.count, written["transcript"]?.count], [1, 1]);
    assert.deepEqual(configIn(back), {
      gateway: { ...gateway, mode: "local" },
      tools: { profile: "coding" },
      agents: { defaults: { workspace: join(back, "workspace") } },
    });
    assert.equal(readFileSync(join(back, "workspace/MEMORY.md"), "utf8"), "- likes tea\n");
    const again = placeIn(here, ".svc-again");
    const { counts } = await again.report("--from", back);
    assert.deepEqual([counts["session"]?.added, counts["transcript"]?.added], [1, 1]);
  });

  it("gives nothing more authority there than it has here", async (t) => {
    const here = place(t);
    await here.report();
    const path = join(here.stateDir, "exec-approvals.json");
    const policy = JSON.parse(readFileSync(path, "utf8"));
    policy.agents.main.allowlist.push({ pattern: "/usr/bin/wc" });
    put(path, JSON.stringify(policy), 0o600);
    const job = {
      id: "from-a-page",
      name: "page",
      enabled: true,
      createdAtMs: 1,
      updatedAtMs: 1,
      schedule: { kind: "every", everyMs: 3_600_000 },
      sessionTarget: "isolated",
      wakeMode: "now",
      payload: { kind: "agentTurn", message: "hi" },
      origin: outsideOrigin("web", "example.org"),
      state: {},
    };
    await withGateway(t, here, (client) => client.request("import.take", { kind: "cron-job", records: [job] }));
    const { leftOut } = await exported(here);
    assert.deepEqual(
      leftOut.map(({ kind, id }) => `${kind} ${id}`),
      ["cron-job from-a-page", "command-policy main /usr/bin/wc"],
    );
    const { agents } = JSON.parse(readFileSync(join(here.home, "back/exec-approvals.json"), "utf8"));
    const { jobs } = JSON.parse(readFileSync(join(here.home, "back/cron/jobs.json"), "utf8"));
    assert.equal(jobs.find(({ id }: { id: string }) => id === job.id).enabled, false);
    assert.deepEqual(
      agents.main.allowlist.map(({ pattern }: { pattern: string }) => pattern),
      ["/usr/bin/rg", "~/bin/*"],
    );
  });

  it("names what cannot come along when the state of the former gateway is gone", async (t) => {
    const here = place(t);
    await here.report();
    rmSync(here.state, { recursive: true });
    const { leftOut } = await exported(here);
    assert.deepEqual(
      leftOut.map(({ kind, id }) => `${kind} ${id.slice(0, 4)}`),
      ["device ab71", "device fc8b", "command-policy main", "command-policy main"],
    );
  });

  it("prints no secret, and its files are private; the state stays as it is", async (t) => {
    const here = place(t);
    await here.report();
    const before = pathsIn(here.stateDir).map((path) => `${path} ${statSync(path).mtimeMs}`);
    const { stdout, stderr } = await here.run("export", "openclaw", "--to", join(here.home, "back"), "--yes");
    assert.match(stdout, /OpenClaw 2026\.3 {3}.*sessions 8.*messages 28[\s\S]*\nNext: OPENCLAW_STATE_DIR=/);
    assert.deepEqual(
      SECRETS.filter((secret) => (stdout + stderr).includes(secret)),
      [],
    );
    const open = pathsIn(join(here.home, "back")).filter((path) => (statSync(path).mode & 0o077) !== 0);
    assert.deepEqual(open, []);
    assert.deepEqual(
      pathsIn(here.stateDir).map((path) => `${path} ${statSync(path).mtimeMs}`),
      before,
    );
    assert.deepEqual(
      [readdirSync(join(here.home, "tmp")), readdirSync(here.home).filter((name) => name.startsWith(".back"))],
      [[], []],
    );
  });

  const refused: [what: string, to: string, words: readonly string[], message: RegExp][] = [
    ["a directory that exists", "tmp", ["--yes"], /tmp exists\nNext: name a directory that does not exist with --to/],
    [
      "a place in the other state directory",
      ".openclaw/back",
      ["--yes"],
      /is inside .*\.openclaw, which stays as it is/,
    ],
    ["a place in its own state directory", ".svc/back", ["--yes"], /is inside .*\.svc\nNext: name another directory/],
    [
      "to write credentials without consent",
      "back",
      [],
      /will have the keys of models and the tokens of devices as text.\nNext: repeat the command with --yes/,
    ],
    ["to export nothing", "back", ["--yes"], /\.svc does not exist\nNext: set SVC_STATE_DIR/],
  ];
  for (const [what, to, words, message] of refused)
    it(`refuses ${what}`, async (t) => {
      const here = place(t);
      const { code, stderr } = await here.run("export", "openclaw", "--to", join(here.home, to), ...words);
      assert.equal(code, 1);
      assert.match(stderr, message);
      assert.ok(!existsSync(join(here.home, "back")));
    });

  it("refuses a configuration that it cannot read, instead of leaving it out", async (t) => {
    const here = place(t);
    put(join(here.stateDir, "svc.json"), "{ damaged", 0o600);
    const { code, stderr } = await here.run("export", "openclaw", "--to", join(here.home, "back"), "--yes");
    assert.equal(code, 1);
    assert.match(stderr, /svc\.json cannot be read: .*\nNext: svc config validate/);
  });

  it("refuses while a gateway uses the state directory", async (t) => {
    const here = place(t);
    const gateway = await startGatewayProcess(here.stateDir, { HOME: here.home, SVC_DATABASE_URL: "" });
    t.after(() => gateway.kill());
    const { code, stderr } = await here.run("export", "openclaw", "--to", join(here.home, "back"), "--yes");
    assert.equal(code, 4);
    assert.match(stderr, /a gateway uses .*\nNext: svc gateway stop/);
  });
});
