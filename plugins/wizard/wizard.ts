/** Handlers of `wizard.*`: one setup at a time, in memory only. Spec: protocol/methods-wizard.md. */
import {
  type Clock,
  type ExtensionView,
  type Handlers,
  invalidRequest,
  isGatewayError,
  type Logger,
  messageOf,
} from "@svc/sdk";
import type { ConfigStore, ReloadKind } from "@svc/sdk/config";
import { refusal } from "@svc/sdk/errors";
import type { GatewayInfo, Restarts } from "@svc/sdk/gateway";
import type { SetupPart, wizard } from "@svc/sdk/wizard";
import { EnteredSecrets } from "./answers.ts";
import { commitOf } from "./commit.ts";
import { writePatch } from "./config-patch.ts";
import { runFlow } from "./flow.ts";
import { Session } from "./session.ts";

/** Choice: milliseconds without a call after which another setup may replace a running one, whose client is probably gone. */
const IDLE_MS = 1_800_000;

export interface WizardSources {
  readonly parts: ExtensionView<SetupPart>;
  readonly config: Pick<ConfigStore, "snapshot" | "write">;
  readonly info: Pick<GatewayInfo, "version" | "hostDirectory">;
  readonly restarts: Pick<Restarts, "possible" | "schedule">;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Current {
  readonly session: Session;
  readonly principal: string;
  readonly startedAt: number;
  usedAt: number;
}

export interface Wizard {
  readonly handlers: Handlers<typeof wizard>;
  /** Ends the running setup. */
  stop(): void;
}

export function createWizard({ parts, config, info, restarts, clock, log }: WizardSources): Wizard {
  let current: Current | undefined;

  function found(sessionId: string): Current {
    if (current?.session.id !== sessionId)
      return invalidRequest("unknown sessionId: this setup has ended or never existed; start one with wizard.start");
    current.usedAt = clock.now();
    return current;
  }

  function forget(session: Session): void {
    if (current?.session === session) current = undefined;
  }

  async function viewOf(session: Session) {
    const view = await session.view();
    if (view.done) forget(session);
    return view;
  }

  function refuseSecond({ session, principal, startedAt, usedAt }: Current): void {
    if (!session.isRunning) return;
    if (clock.now() - usedAt >= IDLE_MS) return session.end("cancelled", "replaced by another setup");
    const since = new Date(startedAt).toISOString();
    throw refusal(
      "WIZARD_RUNNING",
      `a setup of "${principal}" runs since ${since}; finish it, or end it with wizard.cancel {"sessionId": "${session.id}"}`,
      { sessionId: session.id, startedAt },
    );
  }

  /** The record of a finished setup. */
  async function record(actor: string): Promise<void> {
    const commit = await commitOf(info.hostDirectory);
    const lastRun = {
      lastRunAt: new Date(clock.now()).toISOString(),
      lastRunVersion: info.version,
      lastRunCommit: commit ?? null, // null removes a former one
      lastRunCommand: "onboard",
      lastRunMode: "local",
    };
    await writePatch(config, actor, { wizard: lastRun });
  }

  /** Keys that need a restart were written without one, so that the setup could go on. */
  function restartSoon(): void {
    try {
      if (restarts.possible) restarts.schedule({ reason: "wizard" });
    } catch (error) {
      if (!isGatewayError(error)) throw error;
      log.warn({ reason: error.message }, "the setup changed keys that take effect at the next start of the gateway");
    }
  }

  return {
    stop: () => current?.session.end("error", "the plugin wizard was stopped or reloaded; start the setup again"),
    handlers: {
      async start({ params: { mode, workspace }, principal }) {
        if (mode === "remote")
          invalidRequest(
            'mode "remote" connects this machine to a gateway elsewhere, and a gateway keeps no such setting\nNext: run the setup of that gateway: svc onboard --url <url> --token <token>',
          );
        if (current) refuseSecond(current);
        const session = new Session();
        const secrets = new EnteredSecrets();
        const now = clock.now();
        current = { session, principal: principal.id, startedAt: now, usedAt: now };
        let reload: ReloadKind | undefined;
        const request = {
          principal,
          signal: session.signal,
          secrets,
          written: (needed: ReloadKind | undefined) => void (reload = needed === "restart" ? needed : reload),
          ...(workspace?.trim() ? { workspace: workspace.trim() } : {}),
        };
        const errorText = (error: unknown) => {
          if (isGatewayError(error)) return secrets.hide(messageOf(error));
          if (session.isRunning) log.error({ err: error }, "the guided setup failed");
          return "the setup failed; the log of the gateway has the cause: svc logs";
        };
        const work = session.run(async (ask) => {
          await runFlow({ parts, config, clock, log }, request, ask);
          await record(principal.id);
        }, errorText);
        void work.then(() => reload === "restart" && restartSoon());
        return { sessionId: session.id, ...(await viewOf(session)) };
      },

      async next({ params: { sessionId, answer } }) {
        const { session } = found(sessionId);
        if (answer) session.answer(answer.stepId, answer.value);
        return viewOf(session);
      },

      cancel({ params: { sessionId } }) {
        const { session } = found(sessionId);
        session.end("cancelled", "cancelled");
        forget(session);
        return session.outcome();
      },

      status({ params: { sessionId } }) {
        const { session } = found(sessionId);
        if (!session.isRunning) forget(session);
        return session.outcome();
      },
    },
  };
}
