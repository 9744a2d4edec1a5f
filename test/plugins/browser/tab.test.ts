/** A tab whose page does not close at once. */
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { it } from "node:test";
import { createFakeClock } from "@svc/sdk/testing";
import type { Page } from "playwright-core";
import { Tab, type TabDeps } from "../../../plugins/browser/chromium/tab.ts";

/** A page that loses the first request to close. */
function hangingPage(answersTheSecond: boolean) {
  let closed = (): void => assert.fail("nothing waits");
  const sent: string[] = [];
  const page = Object.assign(new EventEmitter(), {
    close: () => new Promise<void>((resolve) => (closed = resolve)),
    isClosed: () => false,
    context: () => ({
      newCDPSession: async () => ({
        async send(method: string) {
          sent.push(method);
          if (answersTheSecond) closed();
        },
      }),
    }),
  });
  const clock = createFakeClock();
  const tab = new Tab("t1", page as unknown as Page, undefined, { clock, incoming: "", files: {} as TabDeps["files"] });
  return { tab, sent, clock };
}

it("a page that loses the request to close is told again", async () => {
  const { tab, sent, clock } = hangingPage(true);
  const closing = tab.close();
  await clock.advance(1_000);
  assert.equal(await closing, true);
  assert.deepEqual(sent, ["Page.close"]);
});

it("a page that does not close is left after 5 s", async () => {
  const { tab, sent, clock } = hangingPage(false);
  const closing = tab.close();
  await clock.advance(1_000);
  await new Promise(setImmediate);
  assert.deepEqual(sent, ["Page.close"]);
  await clock.advance(4_000);
  assert.equal(await closing, false);
});
