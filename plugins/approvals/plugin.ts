/** Asks people whether an action may happen, and binds their decision to exactly that action. */
import { randomUUID } from "node:crypto";
import { openExecPolicy } from "@svc/kit/exec";
import { ownerOf, sharedClock } from "@svc/kit/ownership";
import { definePlugin, lazy, live } from "@svc/sdk";
import {
  ApprovalDecisions,
  ApprovalForwarder,
  execApproval,
  execApprovalRequested,
  execApprovalResolved,
  execApprovals,
  ExecApprovals,
  pluginApproval,
  question,
} from "@svc/sdk/approvals";
import { Approver, GatewayInfo } from "@svc/sdk/gateway";
import { CommandPolicyRecord, Importer, lazyImporter } from "@svc/sdk/import";
import { Nodes } from "@svc/sdk/nodes";
import { Ownership, Retention, Storage } from "@svc/sdk/storage";
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

const importing = lazy(() => import("./import.ts"));

export default definePlugin({
  id: "approvals",
  api: "^1.0.0",
  config: ApprovalsConfig,
  requires: { storage: Storage, ownership: Ownership, host: GatewayInfo, nodes: live(Nodes) },
  configWarnings: withoutApprovers,
  provides: [Approver, ExecApprovals, ApprovalDecisions],

  setup(gateway) {
    const { log, services } = gateway;
    const { host, ownership } = services;
    const clock = sharedClock(gateway.clock, ownership);
    let { approvers, ...forwarding } = gateway.config;
    const store = new ApprovalStore(services.storage);
    const requested = gateway.event(execApprovalRequested);
    const resolved = gateway.event(execApprovalResolved);

    /** With a list of approvers, only these get the events. */
    const audience = (listed: readonly string[]) => (approvers === undefined ? {} : { connections: listed });
    const connections = () => [...host.connections(), ...host.connectionsElsewhere()];
    const present = () => approversAmong(approvers, connections());

    const queue = new ApprovalQueue({
      store,
      clock,
      log,
      newId: randomUUID,
      announce(record) {
        const { id, view, createdAt, expiresAt } = record;
        const asked = present();
        if (asked.length > 0)
          requested({ id, request: view, createdAtMs: createdAt, expiresAtMs: expiresAt }, audience(asked));
        const shown = chats.ask(record);
        return asked.length > 0 || (shown ?? false);
      },
      announceDecision(record, { decision, by }) {
        const { id, view, resolvedAt, grant } = record;
        const payload = { id, decision, resolvedBy: by, ts: resolvedAt ?? clock.now(), request: view };
        resolved({ ...payload, ...(grant && { grant }) }, audience(present()));
        void chats.settled(record);
      },
      announceExpiry: (record) => void chats.settled(record),
      decidedElsewhere: (record) => void chats.settled(record),
      nudge: (owner) => ownership.nudge(owner),
    });
    const chats = createChatForwarding({ view: gateway.own(ApprovalForwarder), config: () => forwarding, log });

    gateway.serve(
      execApproval,
      approvalMethods({
        queue,
        store,
        clock,
        approvers: () => approvers,
        connections,
      }),
    );
    const policy = () => openExecPolicy(host.stateDir);
    gateway.serve(pluginApproval, { list: () => [] });
    gateway.serve(question, { list: () => ({ questions: [] }) });
    gateway.serve(execApprovals, policyMethods({ store, clock, policy, nodes: services.nodes }));
    const policies = { title: "command policies", record: CommandPolicyRecord };
    const importer = async () => (await importing()).policyImporter(policies, policy());
    gateway.extend(Importer, "command-policy", lazyImporter(policies, importer));
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
    const closeLeft = async () => {
      closed = [...closed, ...(await store.closeLeft(clock.now()))];
      if (host.url !== undefined) tellClosed();
    };
    gateway.hooks.hostReady.tap(tellClosed);
    gateway.start(async () => {
      const look = async () => {
        await queue.look();
        await closeLeft();
      };
      await store.open(await ownerOf(gateway, ownership, look));
      await closeLeft();
      return () => queue.stop();
    });
  },
});
