/** Refusals about what is not there, each with the command to go on with. */
import { notFound } from "@svc/sdk";
import type { PendingStore } from "./pending-store.ts";

const LIST = "Next: svc devices list";

/** Choice: ids of callers are shown as far as a real one is long. */
const shown = (id: string) => JSON.stringify(id.slice(0, 80));

export const missing = {
  /** @throws GatewayError `NOT_FOUND` always */
  async request(waiting: PendingStore, requestId: string, now: number): Promise<never> {
    const successor = await waiting.successor(requestId, now);
    if (successor)
      notFound(
        `request ${shown(requestId)} has changed: the device asks for something else now, as request ${successor.requestId}; look at it first\n${LIST}`,
      );
    return notFound(
      `no request ${shown(requestId)} waits: it was decided, it has expired, or it has changed and has another id; the device makes a new one when it connects\n${LIST}`,
    );
  },

  device(deviceId: string): never {
    return notFound(`no paired device ${shown(deviceId)}\n${LIST}`);
  },

  token(deviceId: string, role: string): never {
    return notFound(`device ${shown(deviceId)} has no token for role ${shown(role)}\n${LIST}`);
  },
};
