/** What a webhook is told that is under way when the gateway stops. */
import { unavailable } from "@svc/sdk";

/** @throws GatewayError always: `UNAVAILABLE`; the next start of the gateway goes on. */
export function stopping(): never {
  return unavailable("the gateway stops; the webhook goes on when it is back");
}

/** @throws GatewayError `UNAVAILABLE` when the gateway stops already; what `work` throws */
export async function unlessStopping<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  return signal.aborted ? stopping() : work();
}
