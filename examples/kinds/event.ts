import { defineEvent, definePlugin, Strict, Type } from "@svc/sdk";

export const minute = defineEvent({
  name: "clock.minute",
  summary: "A minute has passed",
  scope: "operator.read",
  local: true,
  payload: Strict({ at: Type.Integer({ description: "epoch ms" }) }),
});
export default definePlugin({
  id: "clock",
  api: "^1.0.0",
  setup(gateway) {
    const emit = gateway.event(minute);
    gateway.every(60_000, () => emit({ at: gateway.clock.now() }));
  },
});
