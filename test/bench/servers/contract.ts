/** The namespace of the benchmark's plugin. */
import { defineContract, defineEvent, Strict, Type } from "@svc/sdk";
import { NAMES } from "./answers.ts";

const Done = Type.Object({ ok: Type.Literal(true) });
const Count = Type.Integer({ minimum: 0 });

/** Methods with work of known size, and measurements of the gateway. */
export const bench = defineContract("bench", {
  healthSized: {
    name: NAMES.healthSized,
    summary: "Answers at once, with as much as `health`",
    scope: "none",
    params: Type.Object({}),
    result: Type.Object({}),
  },
  publish: {
    name: NAMES.publish,
    summary: "Sends one event to every connection",
    scope: "operator.write",
    params: Type.Object({}),
    result: Done,
  },
  seed: {
    summary: "Fills the store: sessions, and messages in one of them",
    scope: "operator.admin",
    params: Strict({ sessions: Count, messages: Count, sessionKey: Type.String() }),
    result: Done,
  },
  seedEvents: {
    summary: "Fills the main session with events: with other texts, then again and again with this one",
    scope: "operator.admin",
    params: Strict({ waiting: Count, repeats: Count, text: Type.String() }),
    result: Done,
  },
  copy: {
    summary: "Copies the newest webhook, scheduled run and approval this many times",
    scope: "operator.admin",
    params: Strict({ times: Count }),
    result: Done,
  },
  watchLoop: {
    summary: "Begins to measure the delay of the event loop",
    scope: "operator.admin",
    params: Strict({}),
    result: Done,
  },
  loopDelay: {
    summary: "Ends it: 99th percentile and worst, in milliseconds",
    scope: "operator.admin",
    params: Strict({}),
    result: Type.Object({ p99: Type.Number(), max: Type.Number() }),
  },
});

/** Broadcast with a sequence number, like most events. */
export const newsEvent = defineEvent({
  name: NAMES.news,
  summary: "Something for everybody",
  payload: Type.Object({}),
});
