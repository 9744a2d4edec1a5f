/** One run of an account: reads the rooms batch by batch, and remembers the position when the gateway has a batch. */
import { repeated, submitted } from "@svc/kit/channels";
import { type Clock, GatewayError, isGatewayError, type Logger, matches, messageOf } from "@svc/sdk";
import { pause, Type, unavailable } from "@svc/sdk";
import type { ChannelRun, InboundMessage } from "@svc/sdk/channels";
import { ask, at, whoami } from "./api.ts";
import type { Settings } from "./config.ts";
import { createMemory, directoryOf, type Memory } from "./directory.ts";
import { Batch, isMember, Page, READ, relatedId, Room, RoomEvent, StateEvent } from "./events.ts";
import { put } from "./outgoing.ts";
import { toInbound } from "./translate.ts";

/** Milliseconds for the first request of an account: the server collects all rooms for it. */
const FIRST_SYNC_MS = 120_000;
/** Choice: events of a room in one batch, and those fetched after a gap. */
const [LIMIT, MAX_MISSED] = [100, 1_000];
const DAY_MS = 86_400_000;
/** Changes after which a room is looked up again. */
const CHANGES = ["m.room.member", "m.room.name", "m.room.encryption"];
const FILTER = { presence: { types: [] }, account_data: { types: ["m.direct"] } };
const ROOM_FILTER = { ephemeral: { types: [] }, account_data: { types: [] }, timeline: { limit: LIMIT } };
const NOTE =
  "This room is encrypted, and this gateway cannot read it. Next: make a room without encryption, and invite the bot.";

interface RunContext {
  readonly clock: Clock;
  readonly log: Logger;
  readonly memory: Memory;
}

/** @throws GatewayError `UNAVAILABLE`: the connection was lost; `NOT_LINKED`: the token is refused */
export async function runAccount(run: ChannelRun<Settings>, { clock, log, memory }: RunContext): Promise<void> {
  const { signal, settings, accountId: account } = run;
  const requester = { ...settings, clock, signal };
  const directory = directoryOf(memory, requester);
  let me = "";

  /** Repeats work until the server answers; `undefined` if it refuses. */
  const known = <T>(what: string, work: () => Promise<T>) =>
    repeated(work, { clock, log, signal }).catch((error: unknown) => {
      if (signal.aborted || (isGatewayError(error) && error.code === "NOT_LINKED")) throw error;
      log.warn({ account, reason: messageOf(error) }, `the Matrix homeserver refuses ${what}`);
      return undefined;
    });

  async function read(): Promise<void> {
    me = await whoami(requester);
    const { userId = me, homeserverUrl } = settings;
    if (userId !== me)
      throw new GatewayError("NOT_LINKED", `the access token belongs to ${me}, not to ${userId}; next: log in again`);
    Object.assign(memory, { me, direct: undefined, rooms: createMemory().rooms }); // they may have changed meanwhile
    const stored = await run.openState(Type.Object({ userId: Type.String(), since: Type.String() }));
    let since = stored.value?.userId === me ? stored.value.since : undefined;
    const connected = () => run.report({ state: "connected", detail: `${me} on ${homeserverUrl}` });
    if (since !== undefined) connected();
    while (!signal.aborted) {
      try {
        const batch = await sync(since);
        run.alive();
        await accept(batch, since);
        await stored.write({ userId: me, since: batch.next_batch });
        if (since === undefined) connected();
        since = batch.next_batch;
      } catch (error) {
        if (!isGatewayError(error) || error.retryAfterMs === undefined) throw error;
        run.report({ state: "disconnected", detail: error.message });
        await pause(error.retryAfterMs, clock, signal);
        if (since !== undefined && !signal.aborted) connected();
      }
    }
  }

  /** @param since absent: only the position and open invitations; the agent reads nothing that is older */
  async function sync(since: string | undefined): Promise<Batch> {
    const isFirst = since === undefined;
    const room = isFirst ? { ...ROOM_FILTER, timeline: { limit: 1 }, state: { types: [] } } : ROOM_FILTER;
    const filter = JSON.stringify({ ...FILTER, room });
    const timeout = String(settings.syncTimeoutMs);
    const query = isFirst ? { filter } : { filter, since, timeout, set_presence: "offline" };
    const ms = isFirst ? FIRST_SYNC_MS : settings.syncTimeoutMs * 1.5;
    const batch = await ask(requester, "client/v3/sync", { query, ms });
    return matches(Batch, batch) ? batch : unavailable("the Matrix homeserver sent events in an unknown form");
  }

  async function accept({ account_data: data, rooms = {} }: Batch, since: string | undefined): Promise<void> {
    for (const event of data?.events ?? [])
      if (Object(event).type === "m.direct") directory.setDirect(Object(event).content);
    for (const roomId of Object.keys(rooms.leave ?? {})) memory.rooms.set(roomId, "unknown");
    for (const [roomId, room] of Object.entries(rooms.invite ?? {})) await join(roomId, room);
    for (const [roomId, room] of Object.entries(since === undefined ? {} : (rooms.join ?? {}))) {
      if (matches(Room, room)) await acceptRoom(roomId, room, since ?? "");
      else log.warn({ account, id: roomId }, "a Matrix room has an unknown form; skipped");
    }
  }

  /** Accepts an invitation that is permitted. */
  async function join(roomId: string, room: unknown): Promise<void> {
    const { autoJoin, groups } = settings;
    const invitation = (matches(Room, room) ? room.invite_state?.events : [])?.find((event) => isMember(event, me));
    const isDirect = invitation?.content["is_direct"] === true;
    const isPermitted = autoJoin === "always" || isDirect || groups.includes(roomId) || groups.includes("*");
    if (autoJoin === "never" || !isPermitted)
      return log.info(
        { account, id: roomId },
        "a Matrix invitation stays open; list the room in groups and invite again",
      );
    const joined = await known("to let the bot join; invite it again", () =>
      ask(requester, at`client/v3/join/${roomId}`, { method: "POST", body: {} }).catch((error: unknown) => {
        // Only once: a dead server of another domain must not delay the other rooms.
        const isDown = isGatewayError(error) && error.code === "UNAVAILABLE";
        throw isDown ? new GatewayError("INVALID_REQUEST", error.message) : error;
      }),
    );
    if (joined && isDirect)
      await known("to remember a direct chat", () => directory.useDirect(invitation.sender, roomId));
  }

  async function acceptRoom(roomId: string, { state, timeline = {} }: Room, since: string): Promise<void> {
    const { events: latest = [], limited = false, prev_batch: before } = timeline;
    const changes = state?.events ?? [];
    // Looked up again for the first message, so that all messages of the batch get the latest facts.
    const isChange = (event: unknown) => matches(StateEvent, event) && CHANGES.includes(event.type);
    if ([...changes, ...latest].some(isChange)) memory.rooms.set(roomId, "unknown");
    const memberships = [...changes, ...latest].filter((event) => isMember(event, me));
    const isNew = memberships.some(
      ({ content, unsigned }) => content["membership"] === "join" && unsigned?.prev_content?.["membership"] !== "join",
    );
    const older = limited && !isNew && before !== undefined ? await missed(roomId, before, since) : [];
    // What people wrote between invitation and join is for the bot; older messages are not.
    const start = isNew
      ? latest.findIndex((event) => isMember(event, me) && event.content["membership"] !== "leave")
      : 0;
    let last: string | undefined;
    for (const event of [...older, ...latest.slice(Math.max(0, start))]) {
      if (matches(StateEvent, event)) continue;
      if (!matches(RoomEvent, event)) log.warn({ account, id: roomId }, "a malformed Matrix event was skipped");
      else if (event.sender !== me && (await acceptEvent(roomId, event))) last = event.event_id;
    }
    if (last === undefined) return;
    const receipt = ask(requester, at`client/v3/rooms/${roomId}/receipt/m.read/${last}`, { method: "POST", body: {} });
    void receipt.catch((error: unknown) => log.debug({ reason: messageOf(error) }, "a Matrix message stays unread"));
  }

  /** The events of a room between two batches, oldest first. */
  async function missed(roomId: string, before: string, since: string): Promise<unknown[]> {
    const found: unknown[] = [];
    for (let from: string | undefined = before; from !== undefined && found.length < MAX_MISSED;) {
      const query: Record<string, string> = { dir: "b", from, to: since, limit: String(LIMIT) };
      const path = at`client/v3/rooms/${roomId}/messages`;
      const page: unknown = await known("older messages", () => ask(requester, path, { query }));
      if (!matches(Page, page) || page.chunk.length === 0) break;
      found.push(...page.chunk);
      from = page.end;
    }
    return found.reverse();
  }

  /** @returns whether the gateway has the message */
  async function acceptEvent(roomId: string, event: RoomEvent): Promise<boolean> {
    if (event.type === "m.room.encrypted") await explainEncryption(roomId);
    if (!READ.includes(event.type)) return false;
    const room = await known("to name the members of a room", () => directory.room(roomId));
    if (!room) return false;
    const id = relatedId(event);
    const related = id === undefined ? undefined : await known("an older message", () => directory.event(roomId, id));
    const isDirect = (await known("the list of direct chats", () => directory.isDirect(roomId, room))) === true;
    memory.events.set(event.event_id, event);
    memory.places.set(event.event_id, roomId);
    let message: InboundMessage | undefined;
    try {
      message = toInbound(event, { me, roomId, room, isDirect, related });
    } catch (error) {
      log.warn({ account, id: event.event_id, reason: messageOf(error) }, "a malformed Matrix event was skipped");
    }
    if (!message) return false;
    // An answer after a restart finds the room by it.
    if (isDirect) await known("to remember a direct chat", () => directory.useDirect(event.sender, roomId));
    return (await submitted(run, message, { clock, log })).accepted;
  }

  /** Once for each room and day: the homeserver recognizes a repetition. */
  async function explainEncryption(roomId: string): Promise<void> {
    const day = String(Math.floor(clock.now() / DAY_MS));
    if (memory.explained.get(roomId) === day) return;
    memory.explained.set(roomId, day);
    const content = { msgtype: "m.notice", body: NOTE, "m.mentions": {} };
    await known("the note", () => put(requester, roomId, "m.room.message", content, `encrypted-${day}`));
  }

  if (signal.aborted) return;
  run.report({ state: "connecting" });
  try {
    await read();
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
