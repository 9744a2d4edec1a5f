/** Texts on their way out, with a storage that does not say what became of a write. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Contribution, GatewayError } from "@svc/sdk";
import type { Channel } from "@svc/sdk/channels";
import { createFakeClock } from "@svc/sdk/testing";
import { Outbox } from "../../../plugins/channels/outbox.ts";
import type { OutboxStore, OutboxText } from "../../../plugins/channels/outbox-store.ts";

type Write = (row: OutboxText) => OutboxText;

/** One row. Each write does its work, and then nobody hears of it; done again it conflicts, as it does in the database. */
function deafStore() {
  let row: OutboxText | undefined;
  const done = new Set<string>();
  const statement = (name: string, write: Write) => ({ name, write }) as unknown as ReturnType<OutboxStore["insert"]>;
  const store = {
    async add(text: OutboxText, now: number) {
      row = { ...text, sent: 0, status: "waiting", attempts: 0, nextAt: now, createdAt: now };
      return true;
    },
    find: async () => row,
    progressed: (_id: string, sent: number) => statement(`sent ${sent}`, (before) => ({ ...before, sent })),
    ended: (_id: string, status: "sent" | "failed") => statement(status, (before) => ({ ...before, status })),
    async write(statements: readonly unknown[]) {
      const changes = statements as readonly { name: string; write: Write }[];
      if (changes.some(({ name }) => done.has(name))) throw new GatewayError("CONFLICT", "changed meanwhile");
      for (const { name, write } of changes) {
        done.add(name);
        row = row && write(row);
      }
      throw new GatewayError("UNAVAILABLE", "the outcome is not known", { retryAfterMs: 100 });
    },
  };
  return { store: store as unknown as OutboxStore, row: () => row };
}

describe("a text", () => {
  it("is sent once though storage does not say whether its progress was written", async () => {
    const clock = createFakeClock();
    const said: string[] = [];
    const channel = {
      accounts: [{ id: "a", settings: {} }],
      send: async ({ text }: { text: string }) => void said.push(text),
    } as unknown as Channel;
    const contribution: Contribution<Channel> = { id: "pigeon", plugin: "pigeon", value: channel };
    const { store, row } = deafStore();
    const outbox = new Outbox({
      store,
      accounts: {
        channel: () => contribution,
        account: () => ({ contribution, account: { id: "a", settings: {} }, run: undefined }),
        call: (one, work) => work(one.value),
      },
      mirror: async () => undefined,
      clock,
      log: { info: () => undefined, warn: () => undefined },
      random: () => 0.5,
      signal: new AbortController().signal,
    });
    const text = "the first half is this. the second half is that.";
    await outbox.add({ id: "1", channel: "pigeon", accountId: "a", to: "ann", text, maxChars: 25 });
    await clock.advance(10_000);
    assert.deepEqual(said, ["the first half is this.", "the second half is that."]);
    assert.deepEqual([row()?.sent, row()?.status], [2, "sent"]);
    assert.equal(outbox.isBusy, false);
    assert.equal(outbox.waiting("pigeon", "a"), 0);
  });
});
