/**
 * `kill -9` at a random moment under chat and session writes: nothing acknowledged is lost, the store stays whole,
 * and the next start serves. Spec: design/reliability.md line 4.
 *
 * Clients write a history of what was acknowledged; after the restart a checker compares it with what the gateway says.
 * SVC_FAULT_ROUNDS sets the number of kills (default 10), SVC_FAULT_SEED repeats a run.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { agents, chat, sessions } from "@svc/sdk";
import type { GatewayClient } from "@svc/sdk/client";
import { type GatewayProcess, startGatewayProcess } from "../gateway-process.ts";

const ROUNDS = Number(process.env["SVC_FAULT_ROUNDS"] ?? 10);
const SEED = Number(process.env["SVC_FAULT_SEED"] ?? Date.now() % 1_000_000);

/** What a client was told is done. */
type Acknowledged =
  | { readonly kind: "sent"; readonly session: string; readonly text: string; readonly runId: string }
  | { readonly kind: "injected"; readonly session: string; readonly text: string }
  | { readonly kind: "reset"; readonly session: string; readonly sessionId: string };

/** A small generator, so that a seed repeats the moments of the kills. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

/** Writes until the connection breaks. */
async function write(client: GatewayClient, session: string, history: Acknowledged[]): Promise<void> {
  try {
    for (let turn = 0; ; turn++) {
      const text = `echo ${session}-${turn}`;
      const runId = `run-${session}-${turn}`;
      await client.call(chat.send, { sessionKey: session, message: text, idempotencyKey: runId });
      history.push({ kind: "sent", session, text, runId });
      const injected = `injected ${session}-${turn}`;
      await client.call(chat.inject, { sessionKey: session, message: injected });
      history.push({ kind: "injected", session, text: injected });
      const side = `${session}-side`;
      const { entry } = await client.call(sessions.reset, { key: side });
      history.push({ kind: "reset", session: side, sessionId: entry.sessionId });
    }
  } catch {
    // killed: what was not acknowledged counts neither as lost nor as done
  }
}

async function textsOf(client: GatewayClient, session: string): Promise<string[]> {
  const { messages } = await client.call(chat.history, { sessionKey: session, limit: 1_000 });
  return messages.map((message) => {
    const { content } = message as { content: { text?: string }[] };
    return content.map(({ text = "" }) => text).join("");
  });
}

/** Everything acknowledged must be there, once. */
async function check(client: GatewayClient, history: readonly Acknowledged[], round: number): Promise<void> {
  const context = `seed ${SEED}, round ${round}`;
  const bySession = new Map<string, string[]>();
  for (const done of history) {
    if (done.kind === "sent") {
      const { status } = await client.call(agents.wait, { runId: done.runId, timeoutMs: 10_000 });
      assert.notEqual(status, "timeout", `${context}: run ${done.runId} has no outcome`);
    }
  }
  for (const done of history) {
    if (done.kind === "reset") continue;
    const texts = bySession.get(done.session) ?? (await textsOf(client, done.session));
    bySession.set(done.session, texts);
    const found = texts.filter((text) => text === done.text).length;
    assert.equal(found, 1, `${context}: "${done.text}" is there ${found} times`);
  }
  const lastReset = new Map(
    history.flatMap((done) => (done.kind === "reset" ? [[done.session, done.sessionId] as const] : [])),
  );
  const { sessions: rows } = await client.call(sessions.list, {});
  for (const [session, sessionId] of lastReset) {
    const row = rows.find(({ key }) => key === `agent:main:${session}`);
    assert.ok(row?.sessionId, `${context}: session ${session} is gone`);
    // one more reset may have happened without its acknowledgement arriving; an older id may not come back
    const older = history.some(
      (done) =>
        done.kind === "reset" &&
        done.session === session &&
        done.sessionId === row.sessionId &&
        done.sessionId !== sessionId,
    );
    assert.equal(older, false, `${context}: ${session} fell back to an older session`);
  }
}

it(`nothing acknowledged is lost in ${ROUNDS} kills`, { timeout: 900_000 }, async (t) => {
  const stateDir = await mkdtemp(join(tmpdir(), "svc-kill-"));
  await writeFile(join(stateDir, "svc.json"), JSON.stringify({ "provider-offline": { wordDelayMs: 1 } }));
  const random = createRandom(SEED);
  const starts: number[] = [];
  let acknowledged = 0;
  let running: GatewayProcess = await startGatewayProcess(stateDir);
  t.after(async () => {
    await running.kill();
    await rm(stateDir, { recursive: true, force: true });
  });
  for (let round = 0; round < ROUNDS; round++) {
    const history: Acknowledged[] = [];
    const clients = await Promise.all([0, 1, 2].map(() => running.connect()));
    const writers = clients.map((client, index) => write(client, `r${round}w${index}`, history));
    await new Promise((resolve) => setTimeout(resolve, 20 + random() * 250));
    await running.kill();
    await Promise.all(writers);
    await Promise.all(clients.map((client) => client.close()));
    running = await startGatewayProcess(stateDir);
    starts.push(running.readyMs);
    const checker = await running.connect();
    await check(checker, history, round);
    await checker.close();
    acknowledged += history.length;
  }
  const sorted = [...starts].sort((left, right) => left - right);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  t.diagnostic(
    `seed ${SEED}: ${acknowledged} acknowledged writes over ${ROUNDS} kills; next start served after ${Math.round(median)} ms (median), ${Math.round(sorted.at(-1) ?? 0)} ms (most)`,
  );
  assert.ok(acknowledged > ROUNDS, "the writers did write");
});
