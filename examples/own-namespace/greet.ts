/** A typed RPC namespace in one file: `greet.hello` and `greet.count`, and an event for each greeting. */
import { defineContract, defineEvent, definePlugin, Type } from "@svc/sdk";

/** What clients call: `client.call(greet.hello, { name: "Ada" })`. */
export const greet = defineContract("greet", {
  hello: {
    summary: "Greet somebody",
    scope: "operator.write",
    params: Type.Object({ name: Type.String({ minLength: 1 }) }),
    result: Type.Object({ text: Type.String() }),
  },
  count: {
    summary: "Number of greetings since the start",
    scope: "operator.read",
    params: Type.Object({}),
    result: Type.Object({ greeted: Type.Integer() }),
  },
});

/** Sent to every connection. */
export const greeted = defineEvent({
  name: "greet.greeted",
  summary: "Somebody was greeted",
  payload: Type.Object({ name: Type.String() }),
});

export default definePlugin({
  id: "greet",
  api: "^1.0.0",
  config: Type.Object({ word: Type.String({ default: "Hello" }) }),
  setup(gateway) {
    const announce = gateway.event(greeted);
    let count = 0;
    gateway.serve(greet, {
      hello({ params }) {
        count++;
        announce({ name: params.name });
        return { text: `${gateway.config.word}, ${params.name}!` };
      },
      count: () => ({ greeted: count }),
    });
  },
});
