/** One run of an account: reads the rooms batch by batch, and remembers the position when the gateway has a batch. */
import { openStateFile, repeated, type StateFile, submitted } from "@svc/kit/channels";
import {
  type Clock,
  GatewayError,
  isGatewayError,
  type Logger,
  matches,
  messageOf,
  pause,
  Type,
  unavailable,
} from "@svc/sdk";
import type { ChannelRun } from "@svc/sdk/channels";
import { ask, at, errcodeOf, type RequestContext, sendEvent, whoami } from "./api.ts";
import type { Settings } from "./config.ts";
import { type Directory, directoryOf, type Memory } from "./directory.ts";
import {
  Batch,
  InvitedRoom,
  isMember,
  isOwnJoin,
  isRead,
  JoinedRoom,
  membershipOf,
  relatedId,
  RoomEvent,
  StateEvent,
} from "./events.ts";
import { toInbound } from "./translate.ts";

/** Milliseconds for the first request of an account: the server collects all rooms for it. */
const FIRST_SYNC_MS = 120_000;
/** Choice: events of a room in one batch, and those fetched after a gap. */
const MAX_EVENTS = 100;
const MAX_MISSED = 1_000;
const DAY_MS = 86_400_000;
const SILENT = { presence: { types: [] }, account_data: { types: ["m.direct"] } };
const ROOM = { ephemeral: { types: [] }, account_data: { types: [] } };
const FILTER = { ...SILENT, room: { ...ROOM, timeline: { limit: MAX_EVENTS } } };
/** The first batch only names the position: the agent reads nothing that is older. */
const FIRST_FILTER = { ...SILENT, room: { ...ROOM, timeline: { limit: 1 }, state: { types: [] } } };

const Stored = Type.Object({ userId: Type.String(), since: Type.String() });
const Messages = Type.Object({ chunk: Type.Array(Type.Unknown()), end: Type.Optional(Type.String()) });

export interface RunContext {
  readonly clock: Clock;
  readonly log: Logger;
  readonly memory: Memory;
  /** File of the position. */
  readonly file: string;
}

interface Reading extends RunContext {
  readonly run: ChannelRun<Settings>;
  readonly request: RequestContext;
  readonly directory: Directory;
  readonly me: string;
  /** Repeats work until the server has answered. */
  readonly insist: <T>(work: () => Promise<T>) => Promise<T>;
  /** Like `insist`, but `undefined` if the server refuses. */
  readonly known: <T>(what: string, work: () => Promise<T>) => Promise<T | undefined>;
}

/** @throws GatewayError `UNAVAILABLE`: the connection was lost; `NOT_LINKED`: the token is refused */
export async function runAccount(run: ChannelRun<Settings>, context: RunContext): Promise<void> {
  const { signal, settings } = run;
  if (signal.aborted) return;
  run.report({ state: "connecting" });
  try {
    const request = { clock: context.clock, signal };
    const me = await whoami(settings, request);
    if (settings.userId !== undefined && settings.userId !== me)
      throw new GatewayError(
        "NOT_LINKED",
        `the access token belongs to ${me}, not to ${settings.userId}; next: log in again, or remove userId`,
      );
    await read(readingOf(run, context, request, me));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function readingOf(run: ChannelRun<Settings>, context: RunContext, request: RequestContext, me: string): Reading {
  const { clock, log, memory } = context;
  const directory = directoryOf(memory, run.settings, request);
  directory.forget();
  memory.me = me;
  const insist: Reading["insist"] = (work) => repeated(work, { clock, log, signal: run.signal });
  return {
    ...context,
    run,
    request,
    directory,
    me,
    insist,
    known: (what, work) =>
      insist(work).catch((error: unknown) => {
        if (run.signal.aborted || (isGatewayError(error) && error.code === "NOT_LINKED")) throw error;
        log.warn({ account: run.accountId, reason: messageOf(error) }, `the Matrix homeserver refuses ${what}`);
        return undefined;
      }),
  };
}

async function read(reading: Reading): Promise<void> {
  const { run, clock, file, me } = reading;
  const stored = await openStateFile(file, Stored);
  const connected = () => run.report({ state: "connected", detail: `${me} on ${run.settings.homeserverUrl}` });
  let since = stored.value?.userId === me ? stored.value.since : await first(reading, stored);
  connected();
  while (!run.signal.aborted) {
    try {
      const batch = await sync(reading, since);
      run.alive();
      await accept(batch, reading, since);
      since = batch.next_batch;
    } catch (error) {
      if (errcodeOf(error) === "M_UNKNOWN_POS") {
        reading.log.warn(
          { account: run.accountId },
          "the Matrix homeserver does not know the position; reading from now on",
        );
        since = await first(reading, stored);
        continue;
      }
      if (!isGatewayError(error) || error.retryAfterMs === undefined) throw error;
      run.report({ state: "disconnected", detail: error.message });
      await pause(error.retryAfterMs, clock, run.signal);
      if (!run.signal.aborted) connected();
      continue;
    }
    await stored.write({ userId: me, since });
  }
}

/** @returns the current position, which is on disk */
async function first(reading: Reading, stored: StateFile<{ userId: string; since: string }>): Promise<string> {
  const batch = await sync(reading);
  reading.run.alive();
  await accept({ ...batch, rooms: { invite: batch.rooms?.invite ?? {} } }, reading, "");
  await stored.write({ userId: reading.me, since: batch.next_batch });
  return batch.next_batch;
}

async function sync({ run, request }: Reading, since?: string): Promise<Batch> {
  const { syncTimeoutMs } = run.settings;
  const batch = await ask(run.settings, request, {
    path: "client/v3/sync",
    query: {
      filter: JSON.stringify(since === undefined ? FIRST_FILTER : FILTER),
      set_presence: "offline",
      ...(since === undefined ? {} : { since, timeout: String(syncTimeoutMs) }),
    },
    ms: since === undefined ? FIRST_SYNC_MS : syncTimeoutMs * 1.5,
  });
  return matches(Batch, batch) ? batch : unavailable("the Matrix homeserver sent events in an unknown form");
}

async function accept({ account_data: account, rooms = {} }: Batch, reading: Reading, since: string): Promise<void> {
  const { directory, run, log } = reading;
  for (const event of account?.events ?? []) {
    const { type, content } = Object(event) as { readonly type?: unknown; readonly content?: unknown }; // checked below
    if (type === "m.direct") directory.setDirect(content);
  }
  for (const roomId of Object.keys(rooms.leave ?? {})) directory.forget(roomId);
  for (const [roomId, room] of Object.entries(rooms.invite ?? {})) await invited(roomId, room, reading);
  for (const [roomId, room] of Object.entries(rooms.join ?? {})) {
    if (matches(JoinedRoom, room)) await acceptRoom(roomId, room, reading, since);
    else log.warn({ account: run.accountId, id: roomId }, "a Matrix room has an unknown form; skipped");
  }
}

async function invited(roomId: string, room: unknown, { run, request, directory, me, log }: Reading): Promise<void> {
  const { autoJoin, groups } = run.settings;
  const events: unknown[] = matches(InvitedRoom, room) ? (room.invite_state?.events ?? []) : [];
  const invitation = events.find((event): event is StateEvent => matches(StateEvent, event) && isMember(event, me));
  const isDirect = invitation?.content["is_direct"] === true;
  const isPermitted = isDirect || groups.some((id) => id === roomId || id === "*");
  const fields = { account: run.accountId, id: roomId, ...(invitation ? { who: invitation.sender } : {}) };
  if (autoJoin === "never" || (autoJoin === "permitted" && !isPermitted))
    return log.info(
      fields,
      "an invitation to a Matrix room is left open; to accept it, add the room to groups and invite again",
    );
  try {
    await ask(run.settings, request, { method: "POST", path: at`client/v3/join/${roomId}`, body: {} });
    if (isDirect) await directory.useDirect(invitation.sender, roomId);
  } catch (error) {
    if (run.signal.aborted || (isGatewayError(error) && error.code === "NOT_LINKED")) throw error;
    log.warn({ ...fields, reason: messageOf(error) }, "the bot cannot join a Matrix room; invite it again");
  }
}

async function acceptRoom(roomId: string, room: JoinedRoom, reading: Reading, since: string): Promise<void> {
  const { directory, run, request, me, log } = reading;
  const { events: latest = [], limited = false, prev_batch: before } = room.timeline ?? {};
  const state = (room.state?.events ?? []).filter((event): event is StateEvent => matches(StateEvent, event));
  for (const event of state) directory.change(roomId, event);
  const isOwnMember = (event: unknown): event is StateEvent => matches(StateEvent, event) && isMember(event, me);
  const isNew = [...state, ...latest].some((event) => isOwnMember(event) && isOwnJoin(event, me));
  const hasGap = limited && !isNew && before !== undefined;
  const older = hasGap ? await missed(roomId, before, since, reading) : [];
  // What people wrote between invitation and join is for the bot; older messages are not.
  const start = isNew ? latest.findIndex((event) => isOwnMember(event) && membershipOf(event) !== "leave") : 0;
  let last: string | undefined;
  for (const event of [...older, ...latest.slice(Math.max(0, start))]) {
    if (matches(StateEvent, event)) directory.change(roomId, event);
    else if (!matches(RoomEvent, event))
      log.warn({ account: run.accountId, id: roomId }, "a malformed event of a Matrix room was skipped");
    else if (event.sender !== me && (await acceptEvent(roomId, event, reading))) last = event.event_id;
  }
  if (last === undefined) return;
  const receipt = { method: "POST", path: at`client/v3/rooms/${roomId}/receipt/m.read/${last}`, body: {} } as const;
  void ask(run.settings, request, receipt).catch((error: unknown) =>
    log.debug({ reason: messageOf(error) }, "a Matrix message was not marked as read"),
  );
}

/** The events of a room between two batches, oldest first. */
async function missed(roomId: string, before: string, since: string, reading: Reading): Promise<unknown[]> {
  const found: unknown[] = [];
  for (let from: string | undefined = before; from !== undefined && found.length < MAX_MISSED;) {
    const query: Record<string, string> = { dir: "b", from, to: since, limit: String(MAX_EVENTS) };
    const path = at`client/v3/rooms/${roomId}/messages`;
    const page: unknown = await reading.known("older messages", () =>
      ask(reading.run.settings, reading.request, { path, query }),
    );
    if (!matches(Messages, page) || page.chunk.length === 0) break;
    found.push(...page.chunk);
    from = page.end;
  }
  return found.reverse();
}

/** @returns whether the gateway has the message */
async function acceptEvent(roomId: string, event: RoomEvent, reading: Reading): Promise<boolean> {
  const { run, directory, me, clock, log, known } = reading;
  if (event.type === "m.room.encrypted") await explainEncryption(roomId, reading);
  if (!isRead(event)) return false;
  const room = await known("to name the members of a room", () => directory.room(roomId));
  if (!room) return false;
  const id = relatedId(event);
  const related = id === undefined ? undefined : await known("an older message", () => directory.event(roomId, id));
  const isDirect = (await known("the list of direct chats", () => directory.isDirect(roomId, room))) ?? false;
  directory.keep(roomId, event);
  let message;
  try {
    message = toInbound(event, { me, roomId, room, isDirect, related });
  } catch (error) {
    log.warn({ account: run.accountId, reason: messageOf(error) }, "a Matrix event is malformed; skipped");
  }
  if (!message) return false;
  // An answer after a restart finds the room by it.
  if (isDirect) await known("to remember a direct chat", () => directory.useDirect(event.sender, roomId));
  const receipt = await submitted(run, message, { clock, log });
  return receipt.accepted;
}

/** Once for each room and day: the homeserver recognizes a repetition. */
async function explainEncryption(roomId: string, { run, request, memory, clock, known }: Reading): Promise<void> {
  const day = String(Math.floor(clock.now() / DAY_MS));
  if (memory.explained.get(roomId) === day) return;
  const body =
    "This room is encrypted, and this gateway cannot read encrypted messages. Next: make a room without encryption, and invite the bot there.";
  const content = { msgtype: "m.notice", body, "m.mentions": {} };
  const event = { roomId, type: "m.room.message", transaction: `encrypted-${day}`, content };
  await known("the note about encryption", () => sendEvent(run.settings, request, event));
  memory.explained.set(roomId, day);
}
