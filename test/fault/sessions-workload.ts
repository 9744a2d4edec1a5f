/** Conversations and their settings: messages, injected ones, resets, labels, compaction. */
import assert from "node:assert/strict";
import { agents } from "@svc/sdk/agents";
import { chat } from "@svc/sdk/chat";
import type { GatewayClient } from "@svc/sdk/client";
import { sessions } from "@svc/sdk/sessions";
import { pause, type Workload } from "./workload.ts";

const WRITERS = 2;

/** Acknowledged changes of one writer in a round. */
interface History {
  readonly session: string;
  readonly runs: { readonly runId: string; readonly text: string }[];
  readonly injected: string[];
  /** Successive ids of the session that is reset, oldest first. */
  readonly resets: string[];
  /** The last acknowledged label, and one possibly written without a response. */
  labels: string[];
  /** Texts added to the compacted session since its last attempt. */
  kept: string[];
  isCompacted: boolean;
}

export class SessionsWorkload implements Workload {
  #histories: History[] = [];
  #round = 0;
  acknowledged = 0;

  async write(connect: () => Promise<GatewayClient>): Promise<void> {
    this.#round += 1;
    this.#histories = Array.from({ length: WRITERS }, (_, index) => ({
      session: `talk-${this.#round}-${index}`,
      runs: [],
      injected: [],
      resets: [],
      labels: [],
      kept: [],
      isCompacted: false,
    }));
    await Promise.race(this.#histories.map((history) => this.#writing(history, connect)));
  }

  async #writing(history: History, connect: () => Promise<GatewayClient>): Promise<never> {
    const client = await connect();
    const { session } = history;
    const [side, shrinking] = [`${session}-side`, `${session}-shrinking`];
    await client.call(sessions.reset, { key: shrinking });
    for (let turn = 0; ; turn++) {
      const text = `echo ${session}-${turn};`;
      const runId = `run-${session}-${turn}`;
      await client.call(chat.send, { sessionKey: session, message: text, idempotencyKey: runId });
      history.runs.push({ runId, text });
      const injected = `injected ${session}-${turn};`;
      await client.call(chat.inject, { sessionKey: session, message: injected });
      history.injected.push(injected);
      const { entry } = await client.call(sessions.reset, { key: side });
      history.resets.push(entry.sessionId);
      const label = `label ${session}-${turn}`;
      history.labels.push(label);
      await client.call(sessions.patch, { key: side, label });
      history.labels = [label];
      for (const part of ["a", "b", "c"]) {
        const line = `line ${turn}${part};`;
        await client.call(chat.inject, { sessionKey: shrinking, message: line });
        history.kept.push(line);
      }
      history.kept = history.kept.slice(-2);
      await client.call(sessions.compact, { key: shrinking, maxLines: 2 });
      history.isCompacted = true;
      this.acknowledged += 8;
      await pause(20); // let the other writers proceed
    }
  }

  async check(client: GatewayClient, context: string): Promise<void> {
    const { sessions: rows } = await client.call(sessions.list, {});
    for (const history of this.#histories) {
      const { session, runs, injected, resets, labels, kept } = history;
      for (const { runId } of runs) {
        const { status } = await client.call(agents.wait, { runId, timeoutMs: 10_000 });
        assert.notEqual(status, "timeout", `${context}: run ${runId} has no outcome`);
      }
      const texts = await textsOf(client, session);
      for (const text of [...runs.map((run) => run.text), ...injected]) {
        // the echo answers with the text without the command word
        const found = texts.filter((one) => one === text).length;
        assert.equal(found, 1, `${context}: "${text}" is there ${found} times`);
      }
      const row = rows.find(({ key }) => key === `agent:main:${session}-side`);
      if (resets.length > 0) {
        assert.ok(row?.sessionId, `${context}: session ${session}-side is gone`);
        // one more reset may have happened without its acknowledgement arriving; an older id may not come back
        const isOlder = resets.slice(0, -1).includes(row.sessionId);
        assert.equal(isOlder, false, `${context}: ${session}-side fell back to an older session`);
      }
      const isFirst = labels.length === 1 && labels[0]?.endsWith("-0"); // tried, possibly never applied
      const isKnown = row?.label === undefined ? labels.length === 0 || isFirst : labels.includes(row.label);
      assert.ok(isKnown, `${context}: ${session}-side is labelled ${row?.label}, not ${labels.join(" or ")}`);
      const left = await textsOf(client, `${session}-shrinking`);
      const gone = kept.filter((line) => left.filter((one) => one === line).length !== 1);
      assert.deepEqual(gone, [], `${context}: lines of ${session}-shrinking, which has ${left.join(" ")}`);
      if (history.isCompacted) assert.ok(left.length <= 6, `${context}: ${left.length} lines came back`);
    }
  }
}

async function textsOf(client: GatewayClient, session: string): Promise<string[]> {
  const { messages } = await client.call(chat.history, { sessionKey: session, limit: 1_000 });
  return messages.map((message) => {
    const { content } = message as { content: { text?: string }[] };
    return content.map(({ text = "" }) => text).join("");
  });
}
