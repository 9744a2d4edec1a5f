/** A handler that accesses its signal leaves no listener on the signal of its plugin. */
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { it } from "node:test";
import { WorkSignal } from "../../../host/hooks/work-signal.ts";

it("follows its sources until the work is done, then leaves no listener on them", () => {
  const [plugin, caller] = [new AbortController(), new AbortController()];
  const listeners = () => getEventListeners(plugin.signal, "abort").length;
  const done = new WorkSignal(plugin.signal, caller.signal);
  const signal = done.get();
  assert.equal(listeners(), 1);
  done.ended();
  assert.equal(listeners(), 0);

  const unlooked = new WorkSignal(plugin.signal);
  assert.equal(listeners(), 0);
  unlooked.abort();
  assert.equal(unlooked.get().aborted, true, "aborted before anybody looked");

  const running = new WorkSignal(plugin.signal, caller.signal);
  const other = running.get();
  caller.abort();
  assert.deepEqual([other.aborted, signal.aborted], [true, false]);
  running.ended();
  assert.equal(listeners(), 0);
  assert.equal(new WorkSignal(caller.signal).get().aborted, true, "its source was aborted before");
});
