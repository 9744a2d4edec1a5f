/** Asks people whether an action may happen, and binds their decision to exactly that action. */
import { randomUUID } from "node:crypto";
import { openExecPolicy } from "@svc/kit/exec";
import { definePlugin, live } from "@svc/sdk";
import {
  execApproval,
  execApprovalRequested,
  execApprovalResolved,
  execApprovals,
  ExecApprovals,
} from "@svc/sdk/approvals";
import { Approver, GatewayInfo } from "@svc/sdk/gateway";
import { Nodes } from "@svc/sdk/nodes";
import { Retention, Storage } from "@svc/sdk/storage";
import { APPROVAL_RETENTION, GRANT_RETENTION } from "./approval-rows.ts";
import { ApprovalStore } from "./approval-store.ts";
import { createApprover } from "./approver-service.ts";
import { approversAmong } from "./approvers.ts";
import { createClaims } from "./claims.ts";
import { ApprovalsConfig } from "./config.ts";
import { ApprovalQueue } from "./approval-queue.ts";
import { approvalMethods } from "./methods.ts";
import { policyMethods } from "./policy-methods.ts";

export default definePlugin({
  id: "approvals",
  api: "^1.0.0",
  config: ApprovalsConfig,
  requires: { storage: Storage, host: GatewayInfo, nodes: live(Nodes) },
  provides: [Approver, ExecApprovals],

  setup(gateway) {
    const { clock, log, services } = gateway;
    let { approvers } = gateway.config;
    const store = new ApprovalStore(services.storage);
    const requested = gateway.event(execApprovalRequested);
    const resolved = gateway.event(execApprovalResolved);

    /** With a list of approvers, only these get the events. */
    const audience = (connections: readonly string[]) => (approvers === undefined ? {} : { connections });
    const present = () => approversAmong(approvers, services.host.connections());

    const queue = new ApprovalQueue({
      store,
      clock,
      log,
      newId: randomUUID,
      announce({ id, view, createdAt, expiresAt }) {
        const connections = present();
        if (connections.length === 0) return false;
        requested({ id, request: view, createdAtMs: createdAt, expiresAtMs: expiresAt }, audience(connections));
        return true;
      },
      announceDecision({ id, view, resolvedAt, grant }, { decision, by }) {
        const payload = { id, decision, resolvedBy: by, ts: resolvedAt ?? clock.now(), request: view };
        resolved({ ...payload, ...(grant && { grant }) }, audience(present()));
      },
    });

    gateway.serve(
      execApproval,
      approvalMethods({
        queue,
        store,
        clock,
        approvers: () => approvers,
        connections: () => services.host.connections(),
      }),
    );
    const policy = () => openExecPolicy(services.host.stateDir);
    gateway.serve(execApprovals, policyMethods({ store, clock, policy, nodes: services.nodes }));
    gateway.provide(Approver, createApprover(queue));
    gateway.provide(ExecApprovals, createClaims(store, clock));

    gateway.configChanged((config) => {
      approvers = config.approvers;
    });
    gateway.extend(Retention, "approvals", APPROVAL_RETENTION);
    gateway.extend(Retention, "approval-grants", GRANT_RETENTION);
    gateway.start(async () => {
      await store.open(clock.now());
      return () => queue.stop();
    });
  },
});
