/** sample-name: greets people by name and counts the greetings since its start. */
import { defineContract, defineEvent, definePlugin, Strict, Type } from "@svc/sdk";

/**
 * The methods that clients call: `client.call(sampleNameContract.hello, { name: "Ada" })`. One value defines everything
 * about a method.
 */
export const sampleNameContract = defineContract("sample-name", {
  hello: {
    summary: "Greet somebody",
    scope: "operator.write",
    params: Strict({ name: Type.String({ minLength: 1, maxLength: 100 }) }),
    result: Strict({ text: Type.String() }),
  },
  count: {
    summary: "Get the number of greetings since the start",
    scope: "operator.read",
    params: Strict({}),
    result: Strict({ greeted: Type.Integer({ minimum: 0 }) }),
  },
});

/** Sent to every connection. */
export const greeted = defineEvent({
  name: "sample-name.greeted",
  summary: "Somebody was greeted",
  payload: Strict({ name: Type.String() }),
});

export default definePlugin({
  id: "sample-name",
  api: "^1.0.0",
  config: Strict({ word: Type.String({ default: "Hello", minLength: 1, description: "First word of a greeting" }) }),

  // `setup` only declares. Open files, sockets and timers in gateway.start(...).
  setup(gateway) {
    const announce = gateway.event(greeted);
    let count = 0;

    gateway.serve(sampleNameContract, {
      hello({ params }) {
        count += 1;
        announce({ name: params.name });
        return { text: `${gateway.config.word}, ${params.name}!` };
      },
      count: () => ({ greeted: count }),
    });
  },
});
