/** `svc import openclaw` that is killed, and one of many conversations. */
// own process: it runs commands
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { root } from "../checkout.ts";
import { cleanEnvironment } from "../gateway-process.ts";
import { openClawHome } from "../openclaw-state.ts";
import { svc } from "../run-svc.ts";
import { treeLines } from "../tree-hash.ts";

const ROUNDS = 20;
/** Milliseconds that an import of the fixture takes, with a margin. */
const LONGEST_MS = 4_000;

function begin(stateDir: string, home: string, ...words: readonly string[]) {
  const temporary = join(home, "tmp");
  mkdirSync(temporary, { recursive: true });
  const env = cleanEnvironment(stateDir, { HOME: home, SVC_DATABASE_URL: "", TMPDIR: temporary });
  const args = [join(root, "host/cli/svc.js"), "import", "openclaw", "--json", ...words];
  return spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
}

/** The session ids in the report of the state; `undefined`: there is no state. */
function taken(stateDir: string): number | undefined {
  if (!existsSync(stateDir)) return undefined;
  const [id = ""] = readdirSync(join(stateDir, "imports"));
  return JSON.parse(readFileSync(join(stateDir, "imports", id, "report.json"), "utf8")).counts.session.added;
}

describe("svc import openclaw that is killed", () => {
  it("leaves no state or the complete one, changes nothing of the source, and succeeds the next time [A-02]", async (t) => {
    const { home, state } = openClawHome(t);
    const before = treeLines(state);
    const stateDir = join(home, ".svc");
    for (let round = 0; round < ROUNDS && taken(stateDir) === undefined; round++) {
      const child = begin(stateDir, home);
      await pause((LONGEST_MS * round) / ROUNDS);
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      assert.ok([undefined, 8].includes(taken(stateDir)), `round ${round}`);
      assert.deepEqual(treeLines(state), before, `round ${round}`);
    }
    if (taken(stateDir) === undefined) {
      const { code, stderr } = await svc(stateDir, ["import", "openclaw"], { HOME: home, SVC_DATABASE_URL: "" });
      assert.equal(code, 0, stderr);
    }
    assert.equal(taken(stateDir), 8);
    assert.deepEqual(
      readdirSync(home).filter((name) => name.startsWith(".svc.")),
      [],
    );
  });
});

describe("svc import openclaw of many conversations", () => {
  it("takes 10,000 sessions with 200,000 messages in 300 MB of memory [A-16]", async (t) => {
    const { home, state } = openClawHome(t);
    makeSessions(state, 10_000, 20);
    const stateDir = join(home, ".svc");
    const started = performance.now();
    const child = begin(stateDir, home);
    const peak = peakOf(child.pid ?? 0, () => child.exitCode !== null);
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const [code] = await once(child, "close");
    assert.equal(code, 0);
    const { counts } = JSON.parse(output);
    assert.deepEqual([counts.session.added, counts.transcript.added], [10_008, 200_028]);
    const megabytes = Math.round((await peak) / 1_024);
    t.diagnostic(`${Math.round((performance.now() - started) / 1_000)} s, ${megabytes} MB`);
    assert.ok(megabytes < 300, `${megabytes} MB`);
  });
});

function makeSessions(state: string, sessions: number, messages: number): void {
  const directory = join(state, "agents/main/sessions");
  const path = join(directory, "sessions.json");
  const stored = JSON.parse(readFileSync(path, "utf8"));
  for (let at = 0; at < sessions; at++) {
    const sessionId = `made-${at}`;
    stored[`agent:main:made-${at}`] = { sessionId, updatedAt: 1_795_380_000_000 + at };
    const lines = Array.from({ length: messages }, (_, n) =>
      JSON.stringify({
        type: "message",
        id: `m${n}`,
        parentId: n === 0 ? null : `m${n - 1}`,
        timestamp: "2026-11-22T20:00:00.000Z",
        message: {
          role: "user",
          content: [{ type: "text", text: `message ${n} of ${at} ${"words ".repeat(40)}` }],
          timestamp: 1,
        },
      }),
    );
    writeFileSync(join(directory, `${sessionId}.jsonl`), `${lines.join("\n")}\n`);
  }
  writeFileSync(path, JSON.stringify(stored));
}

/** Most memory of a process, KiB. */
async function peakOf(pid: number, hasEnded: () => boolean): Promise<number> {
  let peak = 0;
  while (!hasEnded()) {
    const status = existsSync(`/proc/${pid}/status`) ? readFileSync(`/proc/${pid}/status`, "utf8") : "";
    peak = Math.max(peak, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0));
    await pause(100);
  }
  return peak;
}
