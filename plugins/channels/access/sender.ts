/** The principal of a person who writes through a channel. Pure. */
import type { Principal } from "@svc/sdk";

/** Names the person within the gateway. */
function principalId(channel: string, accountId: string, senderId: string): string {
  return `channel:${channel}:${accountId}:${senderId}`;
}

/** Id on the network of the sender with this principal; `undefined`: it did not write to this account. */
export function senderIn(id: string, channel: string, accountId: string): string | undefined {
  const prefix = principalId(channel, accountId, "");
  return id.startsWith(prefix) ? id.slice(prefix.length) : undefined;
}

/** Id of the sender of an accepted message on the network. */
export function senderIdOf({
  channel,
  accountId,
  job,
}: {
  readonly channel: string;
  readonly accountId: string;
  readonly job: { readonly principal: Pick<Principal, "id"> };
}): string {
  return senderIn(job.principal.id, channel, accountId) ?? "";
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
