/** Runs inside the fuzzed gateway and reports its memory and prototypes; serves a guarded route. */
import { defineContract, definePlugin, Type } from "@svc/sdk";
import { WebhookAction } from "@svc/sdk/webhooks";

export const probe = defineContract("fuzz", {
  probe: {
    summary: "How the gateway is",
    scope: "operator.admin",
    params: Type.Object({}),
    result: Type.Object({ heapUsed: Type.Number(), polluted: Type.Array(Type.String()), sockets: Type.Number() }),
  },
});

/** An action that only writes its record, and its mapping. */
export const HOOK_ACTION = "swallow";

/** Response of the guarded route; seeing it proves access. */
export const GUARDED_TEXT = "behind-the-door";
export const GUARDED_PATH = "/plugins/fuzz/guarded";

const PRISTINE = [Object, Array, String, Function].map(({ prototype }) => Reflect.ownKeys(prototype).length);

function polluted(): string[] {
  const odd = [Object, Array, String, Function].filter(
    ({ prototype }, index) => Reflect.ownKeys(prototype).length !== PRISTINE[index],
  );
  const reached = Object.keys({}).concat("polluted" in {} ? ["polluted"] : []);
  return [...odd.map(({ name }) => name), ...reached];
}

export default definePlugin({
  id: "fuzz",
  api: "^1.0.0",
  setup(gateway) {
    gateway.serve(probe, {
      probe() {
        (globalThis as { gc?: () => void }).gc?.();
        const sockets = process.getActiveResourcesInfo().filter((name) => name.startsWith("TCPSocket")).length;
        return { heapUsed: process.memoryUsage().heapUsed, polluted: polluted(), sockets };
      },
    });
    gateway.route({
      method: "POST",
      path: GUARDED_PATH,
      auth: "gateway",
      scope: "operator.write",
      summary: "Nobody without the credential",
      body: Type.Object({ text: Type.Optional(Type.String()) }),
      maxBodyBytes: 4_096,
      handler: () => ({ body: { text: GUARDED_TEXT } }),
    });
    gateway.extend(WebhookAction, HOOK_ACTION, {
      summary: "Takes what there is",
      direct: true,
      fields: Type.Object({
        text: Type.Optional(Type.String({ external: true })),
        sessionKey: Type.Optional(Type.String()),
      }),
      prepare({ text, sessionKey, ...more }, { policy }) {
        const key = policy.sessionKey(typeof sessionKey === "string" ? sessionKey : undefined);
        return { params: { text, ...more }, reply: { door: GUARDED_TEXT }, sessionKey: key };
      },
      commit: () => [],
    });
  },
});
