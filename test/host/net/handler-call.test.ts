import assert from "node:assert/strict";
import { it } from "node:test";
import { HandlerCall } from "../../../host/net/ws/handler-call.ts";

it("a handler that has ended accepts nothing any more, so that a response is never followed by a first one", () => {
  const sent: unknown[] = [];
  const { signal } = new AbortController();
  const call = new HandlerCall(
    {
      method: "demo.twice",
      params: {},
      principal: { id: "token", role: "operator", scopes: [], provenance: "token", epoch: 1 },
      connection: undefined,
      signal,
      accept: (payload) => sent.push(payload),
    },
    {},
    signal,
  );
  call.accept("first");
  call.ended();
  call.accept("late");
  assert.deepEqual(sent, ["first"]);
});
