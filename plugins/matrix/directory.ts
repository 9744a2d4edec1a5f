/** Rooms, direct chats and events that messages name by id, from the server and with a bounded memory. */
import { bounded } from "@svc/kit/channels";
import { invalidRequest, isGatewayError, matches, notFound, Type } from "@svc/sdk";
import { ask, at, find, type RequestContext, whoami } from "./api.ts";
import type { Settings } from "./config.ts";
import { membershipOf, RoomEvent, type StateEvent } from "./events.ts";

const MAX_ROOMS = 500;
const MAX_EVENTS = 500;
const MAX_PLACES = 5_000;

export interface Room {
  readonly name?: string | undefined;
  /** Display names of the joined members by id; empty: none. */
  readonly members: Map<string, string>;
  readonly isEncrypted: boolean;
}

/** Account data `m.direct`: ids of rooms by the id of the person, the last used one at the end. */
const Direct = Type.Record(Type.String(), Type.Array(Type.String()));

/** What is remembered of an account, for its run and for calls. */
export function createMemory() {
  return {
    me: undefined as string | undefined,
    direct: undefined as Readonly<Record<string, readonly string[]>> | undefined,
    rooms: bounded<Room | "unknown">(MAX_ROOMS), // a map without a removal
    events: bounded<RoomEvent>(MAX_EVENTS),
    /** Day of the last note about encryption by room. */
    explained: bounded<string>(MAX_ROOMS),
    /** Rooms by the id of an event in them. */
    places: bounded<string>(MAX_PLACES),
  };
}
export type Memory = ReturnType<typeof createMemory>;
export type Directory = ReturnType<typeof directoryOf>;

/** @throws GatewayError as `ask`, from every function that returns a promise */
export function directoryOf(memory: Memory, login: Settings, context: RequestContext) {
  const { events, places } = memory;
  const known = (roomId: string) => {
    const room = memory.rooms.get(roomId);
    return room === "unknown" ? undefined : room;
  };

  async function me(): Promise<string> {
    return (memory.me ??= await whoami(login, context));
  }

  async function room(roomId: string): Promise<Room> {
    const found = known(roomId);
    if (found) return found;
    const state = (type: string) => find(login, context, { path: at`client/v3/rooms/${roomId}/state/${type}` });
    const [answer, named, encryption] = await Promise.all([
      ask(login, context, { path: at`client/v3/rooms/${roomId}/joined_members` }),
      state("m.room.name"),
      state("m.room.encryption"),
    ]);
    const joined = Object.entries(Object(answer["joined"]) as Readonly<Record<string, unknown>>); // each entry is checked
    const loaded: Room = {
      name: textOf(named?.["name"]),
      members: new Map(joined.map(([id, member]) => [id, textOf(Object(member).display_name) ?? ""])),
      isEncrypted: encryption !== undefined,
    };
    memory.rooms.set(roomId, loaded);
    return loaded;
  }

  async function direct(): Promise<Readonly<Record<string, readonly string[]>>> {
    if (memory.direct) return memory.direct;
    const path = at`client/v3/user/${await me()}/account_data/m.direct`;
    return setDirect((await find(login, context, { path })) ?? {});
  }

  function setDirect(content: unknown) {
    return (memory.direct = matches(Direct, content) ? content : {});
  }

  /** A person who was invited, but has not joined yet, reads the room later. */
  async function reaches(roomId: string, userId: string): Promise<boolean> {
    const found = await room(roomId).catch((error: unknown) => {
      if (isGatewayError(error) && ["NOT_FOUND", "INVALID_REQUEST"].includes(error.code)) return undefined; // left
      throw error;
    });
    const own = await me();
    if (!found?.members.has(own) || [...found.members.keys()].some((id) => id !== own && id !== userId)) return false;
    if (found.members.has(userId)) return true;
    const member = await find(login, context, { path: at`client/v3/rooms/${roomId}/state/m.room.member/${userId}` });
    return member !== undefined && membershipOf({ content: member }) === "invite";
  }

  /** Notes that the room is the direct chat with this person that was used last. */
  async function useDirect(userId: string, roomId: string): Promise<void> {
    const all = await direct();
    const own = all[userId] ?? [];
    if (own.at(-1) === roomId) return;
    const body = { ...all, [userId]: [...own.filter((id) => id !== roomId), roomId] };
    await ask(login, context, { path: at`client/v3/user/${await me()}/account_data/m.direct`, body });
    memory.direct = body;
  }

  async function directRoom(userId: string, mayCreate: boolean): Promise<string> {
    for (const roomId of (await direct())[userId]?.toReversed() ?? []) if (await reaches(roomId, userId)) return roomId;
    if (!mayCreate) return notFound(`there is no direct chat with ${userId}`);
    const body = { preset: "trusted_private_chat", is_direct: true, invite: [userId] };
    const created = await ask(login, context, { method: "POST", path: "client/v3/createRoom", body });
    const roomId = textOf(created["room_id"]) ?? invalidRequest("the Matrix homeserver did not name the new room");
    await useDirect(userId, roomId);
    return roomId;
  }

  /** Id of the room that the alias names. */
  async function resolve(alias: string): Promise<string> {
    const { room_id: roomId } = await ask(login, context, { path: at`client/v3/directory/room/${alias}` });
    return textOf(roomId) ?? notFound(`${alias} names no room`);
  }

  return {
    me,
    room,
    setDirect,
    useDirect,
    resolve,

    /** Two people in a room that is marked as direct, or has no name. */
    async isDirect(roomId: string, { members, name }: Room): Promise<boolean> {
      if (members.size > 2) return false;
      return name === undefined || Object.values(await direct()).some((ids) => ids.includes(roomId));
    },

    /** Forgets what may have changed while the account did not run, or one room. */
    forget(roomId?: string): void {
      if (roomId !== undefined) return memory.rooms.set(roomId, "unknown");
      memory.rooms = bounded(MAX_ROOMS);
      memory.direct = undefined;
    },

    /** Applies a change to what is known about the room. */
    change(roomId: string, { type, state_key: key, content }: StateEvent): void {
      const found = known(roomId);
      if (!found) return;
      if (type === "m.room.member") {
        if (membershipOf({ content }) === "join") found.members.set(key, textOf(content["displayname"]) ?? "");
        else found.members.delete(key);
      } else if (type === "m.room.name") memory.rooms.set(roomId, { ...found, name: textOf(content["name"]) });
      else if (type === "m.room.encryption") memory.rooms.set(roomId, { ...found, isEncrypted: true });
    },

    keep(roomId: string, event: RoomEvent): void {
      events.set(event.event_id, event);
      places.set(event.event_id, roomId);
    },

    async event(roomId: string, eventId: string): Promise<RoomEvent | undefined> {
      const kept = events.get(eventId);
      if (kept) return kept;
      const found = await find(login, context, { path: at`client/v3/rooms/${roomId}/event/${eventId}` });
      if (!matches(RoomEvent, found)) return undefined;
      events.set(eventId, found);
      return found;
    },

    /**
     * The room of an address.
     * @param near a message in that room: a person may have several direct chats
     * @param mayCreate creates a direct chat if there is none
     */
    async roomOf(to: string, near: string | undefined, mayCreate = false): Promise<string> {
      if (to.startsWith("#")) return resolve(to);
      if (!to.startsWith("user:")) return to;
      const userId = to.slice("user:".length);
      const place = near === undefined ? undefined : places.get(near);
      return place !== undefined && (await reaches(place, userId)) ? place : directRoom(userId, mayCreate);
    },

    /** Notes a sent message. */
    sent: (roomId: string, eventId: string) => places.set(eventId, roomId),
  };
}

const textOf = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
