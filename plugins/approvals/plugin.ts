/** Asks people whether an action may happen, and binds their decision to exactly that action. */
import { randomUUID } from "node:crypto";
import { openExecPolicy } from "@svc/kit/exec";
import { definePlugin, live } from "@svc/sdk";
import {
  ApprovalDecisions,
  ApprovalForwarder,
  execApproval,
  execApprovalRequested,
  execApprovalResolved,
  execApprovals,
  ExecApprovals,
} from "@svc/sdk/approvals";
import { Approver, GatewayInfo } from "@svc/sdk/gateway";
import { Nodes } from "@svc/sdk/nodes";
import { Retention, Storage } from "@svc/sdk/storage";
import { APPROVAL_RETENTION, type ApprovalRecord, GRANT_RETENTION } from "./approval-rows.ts";
import { ApprovalStore } from "./approval-store.ts";
import { createApprover } from "./approver-service.ts";
import { approversAmong } from "./approvers.ts";
import { createChatDecisions, createChatForwarding } from "./chats.ts";
import { createClaims } from "./claims.ts";
import { ApprovalsConfig, withoutApprovers } from "./config.ts";
import { ApprovalQueue } from "./approval-queue.ts";
import { approvalMethods } from "./methods.ts";
import { policyMethods } from "./policy-methods.ts";

export default definePlugin({
  id: "approvals",
  api: "^1.0.0",
  config: ApprovalsConfig,
  requires: { storage: Storage, host: GatewayInfo, nodes: live(Nodes) },
  configWarnings: withoutApprovers,
  provides: [Approver, ExecApprovals, ApprovalDecisions],

  setup(gateway) {
    const { clock, log, services } = gateway;
    let { approvers, ...forwarding } = gateway.config;
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
      announce(record) {
        const { id, view, createdAt, expiresAt } = record;
        const connections = present();
        if (connections.length > 0)
          requested({ id, request: view, createdAtMs: createdAt, expiresAtMs: expiresAt }, audience(connections));
        const shown = chats.ask(record);
        return connections.length > 0 || (shown ?? false);
      },
      announceDecision(record, { decision, by }) {
        const { id, view, resolvedAt, grant } = record;
        const payload = { id, decision, resolvedBy: by, ts: resolvedAt ?? clock.now(), request: view };
        resolved({ ...payload, ...(grant && { grant }) }, audience(present()));
        void chats.settled(record);
      },
      announceExpiry: (record) => void chats.settled(record),
    });
    const chats = createChatForwarding({ view: gateway.own(ApprovalForwarder), config: () => forwarding, log });

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

    gateway.provide(ApprovalDecisions, createChatDecisions({ queue, store, config: () => forwarding }));
    gateway.configChanged((config) => {
      ({ approvers, ...forwarding } = config);
    });
    gateway.extend(Retention, "approvals", APPROVAL_RETENTION);
    gateway.extend(Retention, "approval-grants", GRANT_RETENTION);
    /** Questions that a restart ended. Their messages say so, once the plugins that show them run. */
    let closed: readonly ApprovalRecord[] = [];
    const tellClosed = () => {
      for (const record of closed) void chats.settled(record);
      closed = [];
    };
    gateway.hooks.hostReady.tap(tellClosed);
    gateway.start(async () => {
      closed = await store.open(clock.now());
      if (services.host.url !== undefined) tellClosed();
      return () => queue.stop();
    });
  },
});
