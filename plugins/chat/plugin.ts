/** Chat: sends messages to an agent, streams and stops its replies, returns the history. */
import { definePlugin, lazy, live } from "@svc/sdk";
import { AgentRuns } from "@svc/sdk/agents";
import { chat, chatEvent, sessionMessage, sessionMessages } from "@svc/sdk/chat";
import { ChatCommands, commands as menu } from "@svc/sdk/commands";
import { GatewayInfo, Peers } from "@svc/sdk/gateway";
import { Models, models as catalogue } from "@svc/sdk/models";
import { Sessions } from "@svc/sdk/sessions";
import { Speech } from "@svc/sdk/speech";
import { Retention, Storage } from "@svc/sdk/storage";
import { lazySetupPart, SetupPart } from "@svc/sdk/wizard";
import { createAborts } from "./abort.ts";
import { COMMAND_RETENTION, createCommandLog, MIGRATIONS } from "./command-log.ts";
import { createFollowers } from "./followers.ts";
import { historyRow } from "./history.ts";
import { createInject } from "./injected.ts";
import { createHistory } from "./reading.ts";
import { createSend } from "./send.ts";
import { createSentRuns } from "./sent-runs.ts";
import { createChatStream } from "./stream.ts";

const setupCode = lazy(() => import("./setup-part.ts"));

export default definePlugin({
  id: "chat",
  api: "^1.0.0",
  requires: {
    sessions: Sessions,
    runs: AgentRuns,
    storage: Storage,
    peers: Peers,
    info: GatewayInfo,
    models: live(Models),
    chatCommands: live(ChatCommands),
    speech: live(Speech),
  },
  after: ["commands"],

  setup(gateway) {
    const { clock, log, services } = gateway;
    const { sessions, runs, storage, info, models, chatCommands, speech } = services;
    const emit = gateway.event(chatEvent);
    const sent = createSentRuns(services.peers);
    const aborts = createAborts({ sessions, runs, sent });
    const emitSoon: typeof emit = (payload) => void clock.setTimeout(() => emit(payload), 0);
    const commands = createCommandLog(storage);

    gateway.serve(chat, {
      ...createHistory({ sessions, runs, models, info }),
      async metadata({ params: { agentId, sessionKey }, principal }) {
        const agent = agentId ?? (sessionKey && sessions.agentOf(sessions.canonicalKey(sessionKey)));
        return {
          ...(models.get()
            ? await gateway.call(catalogue.list, agent === undefined ? {} : { agentId: agent }, { principal })
            : { models: [] }),
          ...(chatCommands.get() ? await gateway.call(menu.list, {}, { principal }) : { commands: [] }),
        };
      },
      send: createSend({ sessions, runs, sent, aborts, commands, chatCommands, speech, clock, log, emitSoon }),
      abort: aborts.handler,
      inject: createInject({ sessions, clock, emit }),
    });

    const followers = createFollowers({
      sessions,
      log,
      rowOf: (item) => historyRow(item, { aliases: info.aliases }),
      emit: gateway.event(sessionMessage),
    });
    gateway.serve(sessionMessages, followers.handlers);
    gateway.hooks.connectionClosed.tap(({ id }) => followers.left(id));
    gateway.start(() => sessions.follow((change) => followers.changed(change)));

    gateway.hooks.runEvent.tap(createChatStream({ clock, sessions, sent, emit }));
    const first = lazySetupPart({ title: "First message", order: 900 }, async () =>
      (await setupCode()).createFirstMessagePart(services),
    );
    gateway.extend(SetupPart, "first-message", first);
    gateway.extend(Retention, "chat-commands", COMMAND_RETENTION);
    gateway.start(() => storage.migrate("chat", MIGRATIONS));
  },
});
