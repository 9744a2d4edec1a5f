/** `exec.approvals.*`: policy files and grants. Spec: protocol/methods-exec-approvals.md §1. */
import type { ExecPolicyStore } from "@svc/kit/exec";
import { type Clock, type Handlers, type Live, notFound, unavailable } from "@svc/sdk";
import type { execApprovals } from "@svc/sdk/approvals";
import type { Nodes } from "@svc/sdk/nodes";
import type { ApprovalStore } from "./approval-store.ts";

export interface PolicyParts {
  readonly store: ApprovalStore;
  readonly clock: Pick<Clock, "now">;
  /** The file of this gateway. */
  policy(): ExecPolicyStore;
  readonly nodes: Live<Nodes>;
}

/** Handlers of the contract. */
export function policyMethods({ store, clock, policy, nodes }: PolicyParts): Handlers<typeof execApprovals> {
  const connected = () =>
    nodes.get() ??
    unavailable("no node can be called: the plugin nodes is not running. Next: svc plugins why nodes", {
      retryAfterMs: 1_000,
    });

  return {
    get: () => policy().get(),
    set: ({ params }) => policy().set(params.file, params.baseHash),
    nodeGet: async ({ params }) => (await connected().policyFile(params.nodeId)).payload,
    async nodeSet({ params: { nodeId, file, baseHash } }) {
      const change = { file, ...(baseHash !== undefined && { baseHash }) };
      const { payload, payloadJSON } = await connected().policyFile(nodeId, change);
      // Spec: the result is the payload that the node sent as JSON text; nothing when it sent a value.
      return payloadJSON === null ? undefined : payload;
    },
    grants: async () => ({ grants: await store.grants(clock.now()) }),
    async forget({ params: { digest } }) {
      if (!(await store.forget(digest))) notFound("no grant has this digest. Next: svc approvals grants");
      return { digest };
    },
  };
}
