/** Errors for webhooks in progress when the gateway stops. */
import { unavailable } from "@svc/sdk";

/** @throws GatewayError always `UNAVAILABLE`; the next start of the gateway continues the webhook */
export function stopping(): never {
  return unavailable("the gateway is stopping; the webhook continues after the restart");
}

/** @throws GatewayError `UNAVAILABLE` when the gateway is stopping; errors of `work` */
export async function unlessStopping<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  return signal.aborted ? stopping() : work();
}
