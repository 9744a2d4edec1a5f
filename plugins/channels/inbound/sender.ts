/** The principal of a person who writes through a channel. Pure. */
import type { Principal } from "@svc/sdk";
import type { AcceptedMessage } from "./inbound-store.ts";

/** Names the person within the gateway. */
function principalId(channel: string, accountId: string, senderId: string): string {
  return `channel:${channel}:${accountId}:${senderId}`;
}

/** Id of the sender of an accepted message on the network. */
export function senderIdOf({
  channel,
  accountId,
  job,
}: Pick<AcceptedMessage, "channel" | "accountId" | "job">): string {
  return job.principal.id.slice(principalId(channel, accountId, "").length);
}

/**
 * The principal of a run: never an owner, and never one that can approve. Choice: people who are not listed by id get read access
 * only. The id keeps messages of different people from sharing a run.
 */
export function principalOf(channel: string, accountId: string, senderId: string, user: boolean): Principal {
  return {
    id: principalId(channel, accountId, senderId),
    role: "operator",
    scopes: user ? ["operator.read", "operator.write"] : ["operator.read"],
    provenance: "plugin",
    epoch: 0,
  };
}
