/** `svc import openclaw` and `svc import report`, as a person runs them on the state of a real gateway. */
// own process: it runs commands
import assert from "node:assert/strict";
import { appendFileSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, it } from "node:test";
import type { ImportReport } from "@svc/kit/import";
import { startFakeModelServer } from "@svc/sdk/testing";
import { put } from "../../directory.ts";
import { freePort } from "../../free-port.ts";
import { startGatewayProcess } from "../../gateway-process.ts";
import { place, withGateway } from "../../import-place.ts";
import { pathsIn, SECRETS } from "../../openclaw-state.ts";
import { svc } from "../../run-svc.ts";
import { treeLines } from "../../tree-hash.ts";

/** One line for each file: path, mode, time of the last change, and content. */
function picture(state: string): string[] {
  return [...treeLines(state), ...pathsIn(state).map((path) => `${path} ${statSync(path).mtimeMs}`)];
}

function assertSame(now: readonly string[], before: readonly string[]): void {
  assert.deepEqual(
    now.filter((line) => !before.includes(line)),
    [],
  );
  assert.equal(now.length, before.length);
}

/** `<title> <added>` by kind. */
const added = ({ counts }: ImportReport) =>
  Object.fromEntries(Object.entries(counts).map(([kind, count]) => [kind, count.added]));

/** Sums of the usage in all transcripts of the fixture, archives included; each message once. */
function usageIn(state: string) {
  const messages = new Map<string, { readonly input: number; readonly output: number }>();
  for (const path of pathsIn(join(state, "agents")).filter((name) => name.includes(".jsonl"))) {
    for (const line of readFileSync(path, "utf8").split("\n").filter(Boolean)) {
      const { id, message } = JSON.parse(line);
      if (message?.usage) messages.set(`${basename(path).slice(0, 36)} ${id}`, message.usage);
    }
  }
  const sum = (kind: "input" | "output") => [...messages.values()].reduce((total, usage) => total + usage[kind], 0);
  return { input: sum("input"), output: sum("output") };
}

/** The messages that a transcript shows, from the last line to the first parent. */
function shownIn(path: string): { readonly role: string; readonly content: unknown }[] {
  const lines = readFileSync(path, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  return lines.flatMap(({ type, message }) =>
    type === "message" ? [{ role: message.role, content: message.content }] : [],
  );
}

describe("svc import openclaw", () => {
  it("says what it would do, and writes nothing [A-01]", async (t) => {
    const here = place(t);
    const before = picture(here.state);
    const report = await here.report("--dry-run");
    const { setting: _settings, secret: _secrets, ...kinds } = added(report);
    assert.deepEqual(kinds, {
      file: 2,
      session: 8,
      transcript: 28,
      archive: 2,
      "cron-job": 3,
      "cron-run": 1,
      device: 2,
      "command-policy": 1,
      "wake-words": 1,
    });
    assert.deepEqual([report.dryRun, report.source.format, report.source.running], [true, "files", false]);
    assertSame(picture(here.state), before);
    assert.deepEqual([readdirSync(here.home), readdirSync(join(here.home, "tmp"))], [[".openclaw", "tmp"], []]);
  });

  it("reads a newer state in databases, and one that is moved only half, with the same conversations [A-01, A-12]", async (t) => {
    const latest = place(t, "latest/state");
    const before = picture(latest.state);
    const report = await latest.report("--dry-run");
    assertSame(picture(latest.state), before);
    assert.deepEqual([report.source.format, report.source.halfMoved], ["database", false]);
    const half = await place(t, "half-moved/state").report("--dry-run");
    assert.equal(half.source.halfMoved, true);
    const { session, transcript, device } = added(half);
    assert.deepEqual([session, transcript, device], [8, 28, 2]);
  });

  it("brings every conversation, and changes nothing of the source [A-02, A-03, A-04]", async (t) => {
    const here = place(t);
    const before = picture(here.state);
    const { code, stdout, stderr } = await here.run("import", "openclaw");
    assert.equal(code, 0, stderr);
    assert.match(stdout, /taken +.*sessions 8 +messages 28 +archived transcripts 2/);
    assert.match(stdout, /Nothing below .*\.openclaw was changed/);
    assertSame(picture(here.state), before);
    await withGateway(t, here, async (client) => {
      const stored = JSON.parse(readFileSync(join(here.state, "agents/main/sessions/sessions.json"), "utf8"));
      for (const [sessionKey, { sessionId }] of Object.entries<{ sessionId: string }>(stored)) {
        const path = join(here.state, `agents/main/sessions/${sessionId}.jsonl`);
        const expected = existsSync(path) ? shownIn(path) : [];
        const { messages } = (await client.request("chat.history", { sessionKey, limit: 100 })) as {
          messages: object[];
        };
        assert.deepEqual(
          messages.map((message) => picked(message)),
          expected,
          sessionKey,
        );
      }
      const range = { startDate: "2026-11-01", endDate: "2026-11-30" };
      const { totals } = (await client.request("sessions.usage", range)) as { totals: Record<string, number> };
      const { input, output } = usageIn(here.state);
      assert.deepEqual([totals["input"], totals["output"]], [input, output]);
    });
  });

  it("brings jobs with their ids and next times, and none of them runs because of it [A-08]", async (t) => {
    const here = place(t);
    await here.report();
    await withGateway(t, here, async (client) => {
      const { jobs } = (await client.request("cron.list", { includeDisabled: true })) as {
        jobs: { id: string; name: string; enabled: boolean; state: { nextRunAtMs?: number } }[];
      };
      const source = JSON.parse(readFileSync(join(here.state, "cron/jobs.json"), "utf8")).jobs as typeof jobs;
      assert.deepEqual(jobs.map(({ id }) => id).toSorted(), source.map(({ id }) => id).toSorted());
      assert.deepEqual(jobs.map(({ name, enabled }) => `${name} ${enabled}`).toSorted(), [
        "backup true",
        "once false",
        "tea true",
      ]);
      const once = (list: typeof jobs) => list.find(({ name }) => name === "once");
      const tea = jobs.find(({ name }) => name === "tea")?.state.nextRunAtMs ?? 0;
      assert.equal((tea - 1_795_379_835_589) % 3_600_000, 0, "the anchor counts");
      assert.ok(tea > Date.now(), "a time in the past is not due");
      assert.ok(once(jobs));
      const { entries } = (await client.request("cron.runs", { scope: "all" })) as {
        entries: { jobId: string; record?: string }[];
      };
      const ofTea = entries.filter(({ jobId }) => jobId === "4cb22d9f-3b7b-4fad-9268-65927cbd8794");
      assert.deepEqual(
        ofTea.map(({ record }) => record),
        ["missed"],
      );
    });
  });

  it("prints and reports no secret, and its files are private [A-11]", async (t) => {
    const here = place(t);
    const { stdout, stderr } = await here.run("import", "openclaw");
    const json = await here.run("import", "report", "--json");
    const report = readFileSync(join(here.stateDir, "imports", JSON.parse(json.stdout).id, "report.json"), "utf8");
    const logs = pathsIn(join(here.stateDir, "logs")).filter((path) => path.endsWith(".log"));
    const seen = [stdout, stderr, json.text, report, ...logs.map((path) => readFileSync(path, "utf8"))].join("\n");
    assert.deepEqual(
      SECRETS.filter((secret) => seen.includes(secret)),
      [],
    );
    const open = pathsIn(here.stateDir).filter((path) => (statSync(path).mode & 0o077) !== 0);
    assert.deepEqual(
      open.filter((path) => statSync(path).isFile() && !path.includes("/cache/")),
      [],
    );
    assert.equal(statSync(here.stateDir).mode & 0o777, 0o700);
  });

  it("adds nothing the second time, and needs --merge for it [A-13]", async (t) => {
    const here = place(t);
    await here.report();
    const again = await here.run("import", "openclaw");
    assert.equal(again.code, 4);
    assert.match(again.stderr, /is in use: .*sessions 8.*\nNext: repeat the command with --merge/);
    const report = await here.report("--merge");
    const { setting: _settings, ...kinds } = added(report);
    assert.deepEqual(
      Object.entries(kinds).filter(([, count]) => count > 0),
      [],
    );
    const { formerState } = report;
    assert.ok(formerState !== undefined && existsSync(join(formerState, "svc.json")));
  });

  it("adds new messages of a longer transcript with --merge, and keeps what is here", async (t) => {
    const here = place(t);
    await here.report();
    const path = join(here.state, "agents/work/sessions/d34f7dd6-b845-4fdc-a0ea-e5d60135c222.jsonl");
    const last = readFileSync(path, "utf8").trim().split("\n").at(-1) ?? "";
    const next = { ...JSON.parse(last), id: "ffff0001", parentId: JSON.parse(last).id };
    appendFileSync(path, `${JSON.stringify(next)}\n`);
    assert.equal(added(await here.report("--merge"))["transcript"], 1);
  });

  it("refuses while the gateway of the source runs, and names its process; a dry run goes on [A-17]", async (t) => {
    const here = place(t);
    const lock = { pid: process.pid, configPath: join(here.state, "openclaw.json") };
    put(join(here.home, "tmp", `openclaw-${process.getuid?.()}`, "gateway.0a1b.lock"), JSON.stringify(lock));
    const { code, stderr } = await here.run("import", "openclaw");
    assert.equal(code, 4);
    assert.match(stderr, new RegExp(`runs, process ${process.pid}: .*\nNext: openclaw gateway stop`));
    assert.equal((await here.report("--dry-run")).source.running, true);
    assert.ok(!existsSync(here.stateDir));
  });

  it("refuses when the gateway reads another configuration, or a state in PostgreSQL", async (t) => {
    const { home, stateDir } = place(t);
    for (const env of [
      { SVC_CONFIG_PATH: join(home, "own.json") },
      { SVC_DATABASE_URL: "postgres://nobody@127.0.0.1/x" },
    ]) {
      const { code, stderr } = await svc(stateDir, ["import", "openclaw"], {
        HOME: home,
        SVC_DATABASE_URL: "",
        ...env,
      });
      assert.equal(code, 4);
      assert.match(stderr, /Next: unset SVC_(?:CONFIG_PATH|DATABASE_URL), import, then/);
    }
    assert.ok(!existsSync(stateDir));
  });

  it("refuses while a gateway uses the state directory", async (t) => {
    const here = place(t);
    const gateway = await startGatewayProcess(here.stateDir, { HOME: here.home, SVC_DATABASE_URL: "" });
    t.after(() => gateway.kill());
    const { code, stderr } = await here.run("import", "openclaw");
    assert.equal(code, 4);
    assert.match(stderr, new RegExp(`a gateway uses .*: process ${gateway.child.pid}\nNext: svc gateway stop`));
  });

  it("refuses the state of a newer version, and reads it with --anyway [A-14]", async (t) => {
    const here = place(t);
    put(join(here.state, "openclaw.json"), JSON.stringify({ meta: { lastTouchedVersion: "2027.1.4" } }), 0o600);
    const { code, stderr } = await here.run("import", "openclaw");
    assert.equal(code, 6);
    assert.match(stderr, /OpenClaw 2027\.1\.4 wrote this state/);
    assert.equal(added(await here.report("--anyway"))["session"], 8);
  });

  const unreadable: [what: string, spoil: (state: string) => void, message: RegExp][] = [
    [
      "a configuration that is not JSON5",
      (state) => put(join(state, "openclaw.json"), "{ a: "),
      /openclaw\.json is not JSON5/,
    ],
    [
      "a directory without a state",
      (state) => rmSync(state, { recursive: true }),
      /\.openclaw cannot be read\nNext: svc import openclaw --from/,
    ],
  ];
  for (const [what, spoil, message] of unreadable) {
    it(`refuses ${what}, and leaves no state behind`, async (t) => {
      const here = place(t);
      spoil(here.state);
      const { code, stderr } = await here.run("import", "openclaw");
      assert.equal(code, 5);
      assert.match(stderr, message);
      assert.deepEqual(
        readdirSync(here.home).filter((name) => name.startsWith(".svc")),
        [],
      );
    });
  }

  it("takes the data without a configuration that cannot be read, with --without-config", async (t) => {
    const here = place(t);
    put(join(here.state, "openclaw.json"), "{ a: ", 0o600);
    const report = await here.report("--without-config");
    assert.deepEqual(
      [added(report)["session"], report.warnings],
      [8, ["the configuration was not read: --without-config"]],
    );
  });

  it("runs the transforms of webhooks as before [A-18]", async (t) => {
    const here = place(t);
    await here.report();
    await withGateway(t, here, async (client) => {
      const answer = async (payload: object) =>
        (await client.request("webhooks.try", { mapping: "tr", payload })) as {
          readonly transformed?: unknown;
          readonly params?: Readonly<Record<string, unknown>>;
          readonly response: { readonly status: number };
        };
      const { params = {}, response } = await answer({ what: "box" });
      const { message, name, sessionKey } = params;
      assert.deepEqual(
        [message, name, sessionKey, response.status],
        ["shaped box", "Shape", "agent:main:hook:shape:1", 200],
      );
      assert.equal((await answer({ skip: true })).response.status, 204);
    });
  });

  it("lets a stranger go on with a conversation after two more commands [A-20]", async (t) => {
    const here = place(t);
    const server = await startFakeModelServer({ replies: [{ pieces: ["wel", "come"] }] });
    t.after(() => server.close());
    const config = join(here.state, "openclaw.json");
    const port = await freePort();
    const text = readFileSync(config, "utf8")
      .replace("http://127.0.0.1:32100/v1", server.url)
      .replace("32110", String(port))
      .replace('{ mode: "daily", atHour: 4 }', '{ mode: "idle", idleMinutes: 9999999 }'); // the fixture is old
    put(config, text, 0o600);
    assert.equal((await here.run("import", "openclaw")).code, 0);
    const chat = async () => {
      const { code, stdout, stderr } = await here.run("chat", "--message", "hello again");
      assert.deepEqual([code, stdout.trim()], [0, "welcome"], stderr);
    };
    await withGateway(t, here, chat, port);
    assert.match(JSON.stringify(server.requests[0]), /The user likes tea[\s\S]*FAKE-REPLY: K[\s\S]*hello again/);
  });

  it("loads transforms with --try-code only, and reports their problems", async (t) => {
    const here = place(t);
    const ran = join(here.home, "ran");
    const code = `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(ran)}, ""); export const other = 1;`;
    put(join(here.state, "hooks/transforms/shape.mjs"), code);
    await here.report("--dry-run");
    assert.ok(!existsSync(ran));
    const { items } = await here.report("--dry-run", "--try-code");
    assert.ok(existsSync(ran));
    const found = items.filter(({ kind }) => kind === "transform");
    assert.deepEqual(
      found.map(({ id, action, next }) => [id, action, next]),
      [["shape.mjs", "keep", "svc hooks check"]],
    );
    assert.match(found[0]?.reason ?? "", /shape/);
  });

  it("adds the people whom a code let in with --people", async (t) => {
    const here = place(t);
    put(join(here.state, "credentials/telegram-allowFrom.json"), '{"version":1,"allowFrom":["777"]}', 0o600);
    const { items } = await here.report("--dry-run");
    assert.ok(
      items.some(({ kind, id, action }) => kind === "people" && id === "telegram default" && action === "drop"),
    );
    await here.report("--people");
    const { channels } = JSON.parse(readFileSync(join(here.stateDir, "svc.json"), "utf8"));
    assert.deepEqual(
      [channels.telegram.allowFrom, channels.telegram.groupAllowFrom],
      [["12345678", "777"], ["12345678"]],
    );
  });

  it("copies the workspaces with --copy-workspace, without the files of the source's program", async (t) => {
    const here = place(t);
    await here.report("--copy-workspace");
    const names = readdirSync(join(here.stateDir, "workspace"));
    assert.deepEqual(
      [names.includes("MEMORY.md") || names.includes("SOUL.md"), names.includes(".openclaw")],
      [true, false],
    );
    const { code, stdout } = await here.run("config", "get", "agents.defaults.workspace", "--json");
    assert.deepEqual([code, JSON.parse(stdout)], [0, join(here.stateDir, "workspace")]);
  });

  it("finishes a switch that was killed between its two steps at the next start", async (t) => {
    const here = place(t);
    await here.report();
    renameSync(here.stateDir, `${here.stateDir}.imported`);
    await withGateway(t, here, async (client) => {
      const { sessions } = (await client.request("sessions.list", {})) as { sessions: unknown[] };
      assert.equal(sessions.length, 7);
    });
  });

  it("removes what an import left that was killed", async (t) => {
    const here = place(t);
    const left = `${here.stateDir}.import-999999999-x`;
    put(join(left, "svc.json"), "{}");
    await here.report();
    assert.deepEqual(
      readdirSync(dirname(left)).filter((name) => name.startsWith(".svc")),
      [".svc"],
    );
  });
});

describe("svc import report", () => {
  it("shows the newest import, and refuses an id that is unknown", async (t) => {
    const here = place(t);
    const none = await here.run("import", "report");
    assert.deepEqual([none.code, none.stderr.includes("no import was made")], [1, true]);
    const { id } = await here.report();
    const shown = await here.run("import", "report");
    assert.match(shown.stdout, /sessions 8/);
    const unknown = await here.run("import", "report", "yesterday");
    assert.ok(unknown.stderr.includes(`imports: ${id}`), unknown.stderr);
  });
});

function picked(message: object): { readonly role: string; readonly content: unknown } {
  const { role, content } = message as { role: string; content: unknown };
  return { role, content };
}
