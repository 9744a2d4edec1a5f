/** Runs inside a gateway under test and publishes events for three audiences. */
import { defineContract, defineEvent, definePlugin, Strict, Type } from "@svc/sdk";

const payload = Type.Object({ id: Type.String() });
/** By audience: all connections, and the holders of two scopes. */
export const bursts = {
  all: defineEvent({ name: "burst.all", summary: "For all", payload }),
  read: defineEvent({ name: "burst.read", summary: "For readers", payload, scope: "operator.read" }),
  approvals: defineEvent({ name: "burst.approvals", summary: "For approvers", payload, scope: "operator.approvals" }),
};

export const burst = defineContract("burst", {
  send: {
    summary: "Publish events, in turn for each audience",
    scope: "operator.admin",
    params: Strict({ from: Type.String(), count: Type.Integer(), everyMs: Type.Integer() }),
    result: Type.Object({ ids: Type.Array(Type.String()) }),
  },
});

export default definePlugin({
  id: "burst",
  api: "^1.0.0",
  setup(gateway) {
    const audiences = Object.values(bursts).map((event) => gateway.event(event));
    gateway.serve(burst, {
      async send({ params: { from, count, everyMs } }) {
        const ids: string[] = [];
        for (let round = 0; round < count; round += 1) {
          const id = `${from}/${round}`;
          audiences[round % audiences.length]?.({ id });
          ids.push(id);
          await new Promise<void>((resolve) => void gateway.clock.setTimeout(resolve, everyMs));
        }
        return { ids };
      },
    });
  },
});
