/** Chat and sender of an event. Pure. */
import type { APIUser } from "@discordjs/core";
import type { InboundChat } from "@svc/sdk/channels";
import type { Memory } from "./memory.ts";

interface Place {
  readonly channelId: string;
  readonly guildId: string | undefined;
  readonly userId: string;
  readonly userName?: string;
}

/** Chat and sender of an event that has no message. */
export function aboutPerson(place: Place, memory: Memory, person?: { name: string; roles?: readonly string[] }) {
  const { name, roles } = person ?? memory.people.get(`${place.guildId ?? ""}/${place.userId}`) ?? {};
  return {
    chat: chatOf({ ...place, ...(name === undefined ? {} : { userName: name }) }, memory),
    sender: {
      id: place.userId,
      ...(name === undefined ? {} : { name }),
      ...(roles && place.guildId !== undefined ? { roles: [...roles] } : {}),
    },
    text: "",
  };
}

/**
 * A direct chat has the address of the person: the id of its channel does not say that it is direct. A thread is a chat of
 * its own, so that bindings and rules can name it, and its session belongs to the channel in which it was opened.
 */
export function chatOf({ channelId, guildId, userId, userName }: Place, { channels }: Memory): InboundChat {
  if (guildId === undefined)
    return { type: "direct", id: `user:${idOf(userId)}`, ...(userName === undefined ? {} : { name: userName }) };
  const { parentId } = channels.get(idOf(channelId)) ?? {};
  const name = channels.get(parentId ?? channelId)?.name;
  return {
    type: "group",
    id: channelId,
    ...(name === undefined ? {} : { name: `#${name}` }),
    ...(parentId === undefined ? {} : { threadId: channelId, parentId }),
    guildId,
  };
}

export function nameOf(user: APIUser, nick?: string | null): string {
  return nick ?? user.global_name ?? user.username;
}

/** @throws Error if it is not an id */
export function idOf(value: unknown): string {
  if (typeof value !== "string" || !/^\d{1,20}$/.test(value)) throw new Error("an id is missing or invalid");
  return value;
}
