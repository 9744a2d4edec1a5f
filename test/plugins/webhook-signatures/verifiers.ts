/** The verifiers as the plugin contributes them. */
import type { PluginGateway } from "@svc/sdk";
import { type SignatureVerdict, WebhookVerifier } from "@svc/sdk/webhooks";
import plugin from "../../../plugins/webhook-signatures/plugin.ts";
import { requestOf, type Sample, type SchemeId } from "./signed-requests.ts";

export const verifiers = new Map<string, WebhookVerifier>();

const gateway = {
  extend(point: unknown, id: string, verifier: WebhookVerifier) {
    if (point === WebhookVerifier) verifiers.set(id, verifier);
  },
};
await plugin.setup(gateway as unknown as PluginGateway<never, never>); // the part it uses

export function verifier(id: SchemeId): WebhookVerifier {
  const found = verifiers.get(id);
  if (!found) throw new Error(`the plugin contributes no verifier ${id}`);
  return found;
}

export interface Circumstances {
  /** Default: the secret that signed the request. */
  readonly secrets?: readonly string[];
  /** Seconds after the signed time. */
  readonly later?: number;
  readonly toleranceSeconds?: number;
}

export function verdict(id: SchemeId, sample: Sample, circumstances: Circumstances = {}): SignatureVerdict {
  const { secrets = [sample.secret], later = 0, toleranceSeconds } = circumstances;
  return verifier(id).verify(requestOf(sample, later), secrets, toleranceSeconds);
}

/** `good`, or the reason of the refusal. */
export function outcome(...given: Parameters<typeof verdict>): string {
  const answer = verdict(...given);
  return answer.ok ? "good" : answer.reason;
}

/** @throws Error if the request is refused */
export function replayKey(...given: Parameters<typeof verdict>): string {
  const answer = verdict(...given);
  if (!answer.ok) throw new Error(answer.reason);
  return answer.replayKey;
}
