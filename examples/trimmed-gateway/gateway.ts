/** A gateway inside your own program, with three plugins and nothing else. */
import { createGateway } from "@svc/host";
import { defineContract, definePlugin, Type } from "@svc/sdk";

/** A plugin can be a value of your program, too. */
const clock = defineContract("clock", {
  now: {
    summary: "The time here",
    scope: "operator.read",
    params: Type.Object({}),
    result: Type.Object({ iso: Type.String() }),
  },
});
const clockPlugin = definePlugin({
  id: "clock",
  api: "^1.0.0",
  setup: (gateway) => gateway.serve(clock, { now: () => ({ iso: new Date(gateway.clock.now()).toISOString() }) }),
});

const gateway = await createGateway({ plugins: ["models", "provider-offline", clockPlugin] });
process.stdout.write(
  `${gateway.url} with ${gateway
    .plugins()
    .map(({ id }) => id)
    .join(", ")}\n`,
);
process.once("SIGINT", () => void gateway.stop());
process.once("SIGTERM", () => void gateway.stop());
