/** Revocations on several gateways on one state: each ends a credential on all of them, at once or when they join. */
import { matches, Type } from "@svc/sdk";
import type { Peers } from "@svc/sdk/gateway";
import { Ended } from "./ended.ts";
import type { Authority } from "./principal.ts";

/** Topic of the records of all gateways, and name of the message about one revocation. */
const ENDED = "host/ended";

const Revocation = Type.Object({ id: Type.String(), reason: Type.String() });

export interface EndedElsewhereParts {
  readonly peers: Peers;
  readonly authority: Authority;
  /** Closes what relies on ended credentials. */
  readonly closeDead: (reason: string) => Promise<void>;
}

export interface EndedElsewhere {
  /** Tells the others that a credential has ended. @param id as for `Authority.revoke` */
  tell(id: string, reason: string): void;
  /** Shares all that has ended here, for gateways that come later. */
  share(): void;
}

export function createEndedElsewhere({ peers, authority, closeDead }: EndedElsewhereParts): EndedElsewhere {
  peers.answer(ENDED, async (said) => {
    if (!matches(Revocation, said)) return;
    authority.revoke(said.id);
    await closeDead(said.reason);
  });
  peers.follow(ENDED, () => {
    const records = peers.shared(ENDED).flatMap(({ value }) => (matches(Ended, value) ? value : []));
    const more = records.filter((record) => authority.merge(record));
    if (more.length > 0) void closeDead("unauthorized: the credential has ended at another gateway");
  });
  return {
    tell: (id, reason) => peers.tell(ENDED, { id, reason }),
    share: () => peers.share(ENDED, "record", authority.ended),
  };
}
