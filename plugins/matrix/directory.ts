/** Rooms, direct chats and events that messages name by id, from the server and with a bounded memory. */
import { bounded } from "@svc/kit/channels";
import { isGatewayError, matches, notFound, Type } from "@svc/sdk";
import { ask, askFor, at, find, type Requester, whoami } from "./api.ts";
import { RoomEvent } from "./events.ts";

export interface Room {
  readonly name?: string | undefined;
  /** Display names of the joined members by id; empty: none. */
  readonly members: ReadonlyMap<string, string>;
  readonly isEncrypted: boolean;
}

/** Account data `m.direct`: ids of rooms by the id of the person, the last used one at the end. */
const Direct = Type.Record(Type.String(), Type.Array(Type.String()));

/** What is remembered of an account, for its run and for calls. */
export function createMemory() {
  return {
    me: undefined as string | undefined,
    direct: undefined as Readonly<Record<string, readonly string[]>> | undefined,
    rooms: bounded<Room | "unknown">(500),
    events: bounded<RoomEvent>(500),
    /** Rooms by the id of an event in them. */
    places: bounded<string>(5_000),
    /** Day of the last note about encryption by room. */
    explained: bounded<string>(500),
  };
}
export type Memory = ReturnType<typeof createMemory>;

/** Functions that return a promise throw as `ask`. */
export function directoryOf(memory: Memory, requester: Requester) {
  const me = async () => (memory.me ??= await whoami(requester));
  const roomPath = (roomId: string) => at`client/v3/rooms/${roomId}`;
  const state = (roomId: string, type: string) => find(requester, `${roomPath(roomId)}/state/${type}`);
  const directPath = async () => at`client/v3/user/${await me()}/account_data/m.direct`;

  async function room(roomId: string): Promise<Room> {
    const known = memory.rooms.get(roomId);
    if (known && known !== "unknown") return known;
    const [{ joined }, named, encryption] = await Promise.all([
      ask(requester, `${roomPath(roomId)}/joined_members`),
      state(roomId, "m.room.name"),
      state(roomId, "m.room.encryption"),
    ]);
    const members = Object.entries(Object(joined)).map(([id, one]) => [id, textOf(Object(one).display_name)] as const);
    const name = textOf(named?.["name"]) || undefined;
    const loaded = { name, members: new Map(members), isEncrypted: encryption !== undefined };
    memory.rooms.set(roomId, loaded);
    return loaded;
  }

  const setDirect = (content: unknown) => (memory.direct = matches(Direct, content) ? content : {});
  const direct = async () => memory.direct ?? setDirect(await find(requester, await directPath()));

  /** Only this person reads the room; one who was invited, but has not joined yet, reads it later. */
  async function reaches(roomId: string, userId: string): Promise<boolean> {
    const found = await room(roomId).catch((error: unknown) => {
      if (isGatewayError(error) && ["NOT_FOUND", "INVALID_REQUEST"].includes(error.code)) return undefined; // left
      throw error;
    });
    const own = await me();
    if (!found?.members.has(own) || [...found.members.keys()].some((id) => id !== own && id !== userId)) return false;
    if (found.members.has(userId)) return true;
    return (await state(roomId, at`m.room.member/${userId}`))?.["membership"] === "invite";
  }

  /** Notes that the room is the direct chat with this person that was used last. */
  async function useDirect(userId: string, roomId: string): Promise<void> {
    const all = await direct();
    const own = all[userId] ?? [];
    if (own.at(-1) === roomId) return;
    const body = { ...all, [userId]: [...own.filter((id) => id !== roomId), roomId] };
    await ask(requester, await directPath(), { body });
    memory.direct = body;
  }

  async function directRoom(userId: string, mayCreate: boolean): Promise<string> {
    for (const roomId of (await direct())[userId]?.toReversed() ?? []) if (await reaches(roomId, userId)) return roomId;
    if (!mayCreate) return notFound(`there is no direct chat with ${userId}`);
    const body = { preset: "trusted_private_chat", is_direct: true, invite: [userId] };
    const created = await askFor("room_id", requester, "client/v3/createRoom", { method: "POST", body });
    await useDirect(userId, created);
    return created;
  }

  return {
    me,
    room,
    setDirect,
    useDirect,

    /** Two people in a room that is marked as direct, or has no name. */
    async isDirect(roomId: string, { members, name }: Room): Promise<boolean> {
      if (members.size > 2) return false;
      return name === undefined || Object.values(await direct()).some((ids) => ids.includes(roomId));
    },

    async event(roomId: string, eventId: string): Promise<RoomEvent | undefined> {
      const kept = memory.events.get(eventId);
      if (kept) return kept;
      const found = await find(requester, `${roomPath(roomId)}/${at`event/${eventId}`}`);
      if (!matches(RoomEvent, found)) return undefined;
      memory.events.set(eventId, found);
      return found;
    },

    /**
     * The room of an address.
     * @param near a message in that room: a person may have several direct chats
     * @param mayCreate creates a direct chat if there is none
     */
    async roomOf(to: string, near: string | undefined, mayCreate = false): Promise<string> {
      if (to.startsWith("#")) return askFor("room_id", requester, at`client/v3/directory/room/${to}`);
      if (!to.startsWith("user:")) return to;
      const userId = to.slice("user:".length);
      const place = near === undefined ? undefined : memory.places.get(near);
      return place !== undefined && (await reaches(place, userId)) ? place : directRoom(userId, mayCreate);
    },
  };
}

const textOf = (value: unknown) => (typeof value === "string" ? value : "");
