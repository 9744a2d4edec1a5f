/** Channels, people and posts that events name by id, from the server and with a bounded memory. */
import { bounded } from "@svc/kit/channels";
import { matches } from "@svc/sdk";
import { find, type Login, type RequestContext } from "./api.ts";
import { type ChannelFacts, channelFacts, Post } from "./events.ts";

const MAX_ENTRIES = 500;

export interface Person {
  readonly name: string;
  readonly isBot: boolean;
}

/** Each function returns `undefined` for what does not exist or is hidden from the bot. @throws GatewayError as `ask` */
export interface Directory {
  channel(id: string): Promise<ChannelFacts | undefined>;
  /** Keeps what an event tells about a channel. */
  noteChannel(id: string, channel: ChannelFacts): void;
  person(id: string): Promise<Person | undefined>;
  post(id: string): Promise<Post | undefined>;
}

export function createDirectory(login: Login, context: RequestContext): Directory {
  const channels = bounded<ChannelFacts>(MAX_ENTRIES);
  const people = bounded<Person>(MAX_ENTRIES);
  const posts = bounded<Post>(MAX_ENTRIES);

  return {
    async channel(id) {
      const known = channels.get(id);
      if (known) return known;
      const found = await find(login, context, (client) => client.getChannel(id));
      if (!found) return undefined;
      const facts = channelFacts(found.type, found.display_name, found.team_id);
      channels.set(id, facts);
      return facts;
    },
    noteChannel: (id, channel) => channels.set(id, channel),
    async person(id) {
      const known = people.get(id);
      if (known) return known;
      const found = await find(login, context, (client) => client.getUser(id));
      if (!found) return undefined;
      const person = { name: found.username, isBot: found.is_bot };
      people.set(id, person);
      return person;
    },
    async post(id) {
      const known = posts.get(id);
      if (known) return known;
      const found: unknown = await find(login, context, (client) => client.getPost(id));
      if (!matches(Post, found)) return undefined;
      posts.set(id, found);
      return found;
    },
  };
}
