/** Runs in every queue mode (two modes per round), and runs that start others: each accepted run ends in a queryable state. */
import assert from "node:assert/strict";
import { agents } from "@svc/sdk/agents";
import { chat } from "@svc/sdk/chat";
import type { GatewayClient } from "@svc/sdk/client";
import { refusalOf, type Workload } from "./workload.ts";

const MODES = ["collect", "followup", "steer", "steer-backlog", "interrupt"];
/** An aborted run counts as `timeout`, with the time of its end. */
interface Outcome {
  readonly status: "ok" | "error" | "timeout";
  readonly endedAt?: number;
  readonly error?: string;
}

interface Run {
  readonly runId: string;
  readonly session: string;
  readonly text: string;
  /** Set once a client received it. */
  ended?: Outcome;
}

export class RunsWorkload implements Workload {
  #runs: Run[] = [];
  #parents: Run[] = [];
  #round = 0;
  acknowledged = 0;
  interrupted = 0;
  subruns = 0;

  async write(connect: () => Promise<GatewayClient>): Promise<void> {
    this.#round += 1;
    this.#runs = [];
    this.#parents = [];
    const modes = [0, 1].map((place) => MODES[(this.#round + place) % MODES.length] ?? "collect");
    await Promise.race([...modes.map((mode) => this.#sending(mode, connect)), this.#spawning(connect)]);
  }

  /** Three messages at once to one session, repeated when all are answered. */
  async #sending(mode: string, connect: () => Promise<GatewayClient>): Promise<never> {
    const client = await connect();
    const session = `runs-${this.#round}-${mode}`;
    await client.call(chat.send, {
      sessionKey: session,
      message: `/queue ${mode} debounce:5ms`,
      idempotencyKey: `${session}-mode`,
    });
    for (let turn = 0; ; turn++) {
      const sent = await Promise.all(
        [0, 1, 2].map(async (place) => {
          const run: Run = { runId: `${session}-${turn}-${place}`, session, text: `echo ${session}-${turn}-${place};` };
          const { runId, text } = run;
          await client.call(chat.send, { sessionKey: session, message: text, idempotencyKey: runId });
          this.acknowledged += 1;
          this.#runs.push(run);
          return run;
        }),
      );
      for (const run of sent) run.ended = await client.call(agents.wait, { runId: run.runId });
    }
  }

  /** Runs whose agent starts another one. */
  async #spawning(connect: () => Promise<GatewayClient>): Promise<never> {
    const client = await connect();
    for (let turn = 0; ; turn++) {
      const session = `spawn-${this.#round}-${turn % 2}`;
      const runId = `${session}-${turn}`;
      const message = `/tool sessions_spawn {"task":"echo ${runId}"}`;
      const { status } = await client.call(agents.run, { message, sessionKey: session, idempotencyKey: runId });
      assert.equal(status, "accepted");
      const run: Run = { runId, session, text: message };
      this.acknowledged += 1;
      this.#parents.push(run);
      run.ended = await client.call(agents.wait, { runId });
    }
  }

  async check(client: GatewayClient, context: string): Promise<void> {
    for (const { runId, ended } of [...this.#runs, ...this.#parents]) {
      const { status, error } = await outcomeOf(runId, client, context);
      if (ended?.endedAt) assert.equal(status, ended.status, `${context}: run ${runId} ended otherwise before`);
      if (error?.includes("restart")) this.interrupted += 1;
    }
    for (const { runId, session, text } of this.#runs) {
      const params = { sessionKey: session, message: text, idempotencyKey: runId };
      const again = await client.call(chat.send, params).catch(refusalOf);
      if ("message" in again) assert.match(again.message, /new idempotencyKey/, `${context}: run ${runId}`);
      else assert.notEqual("status" in again && again.status, "started", `${context}: run ${runId} was forgotten`);
    }
    for (const session of new Set(this.#runs.map((run) => run.session))) {
      if (session.endsWith("interrupt")) continue; // a run that never started leaves no message
      const said = await spokenBy("user", client, session);
      for (const run of this.#runs.filter((one) => one.session === session)) {
        const found = said.split(run.text).length - 1;
        assert.equal(found, 1, `${context}: "${run.text}" is there ${found} times`);
      }
    }
    for (const session of new Set(this.#parents.map((run) => run.session)))
      await this.#checkChildren(client, session, context);
  }

  /** A sub-run known to the parent has an outcome, and the parent receives the outcome. */
  async #checkChildren(client: GatewayClient, session: string, context: string): Promise<void> {
    const said = await spokenBy("toolResult", client, session);
    for (const [, runId = ""] of said.matchAll(/"runId":"([0-9a-f-]{36})"/g)) {
      await outcomeOf(runId, client, context);
      await outcomeOf(`subagent-result-${runId}`, client, context); // the parent received the outcome
      this.subruns += 1;
    }
  }
}

async function outcomeOf(runId: string, client: GatewayClient, context: string): Promise<Outcome> {
  const outcome = await client.call(agents.wait, { runId, timeoutMs: 15_000 });
  assert.ok(outcome.endedAt, `${context}: run ${runId} has no outcome`);
  return outcome;
}

async function spokenBy(role: string, client: GatewayClient, session: string): Promise<string> {
  const { messages } = await client.call(chat.history, { sessionKey: session, limit: 1_000 });
  return JSON.stringify(messages.filter((message) => (message as { role: string }).role === role)).replaceAll("\\", "");
}
