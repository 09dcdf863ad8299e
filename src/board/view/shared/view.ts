import { type ComponentChild, h } from 'preact';
import { button } from './button.ts';
import { describeFailure } from './describe-error.ts';
import { type Arguments, dataOf, type Host, type HostEvents, slowResponseMs, type ToolResult } from './host.ts';
import { applyTheme, Formats } from './theme.ts';

/** The part of the state that every View has. */
export interface ViewState {
  /** Says what happened, to people who see the page and people who hear it. */
  message: string;
  /** Says that the program around the page has ended, as long as that is so. */
  notice?: string | undefined;
  /** True when the page could not be loaded, and can be loaded again. */
  canRetry: boolean;
  /** True while the list is loaded. */
  isBusy: boolean;
  isLoadingMore: boolean;
  formats: Formats;
}

/** The state of a View that waits for its host. */
export const connecting: ViewState = {
  message: 'Connecting …',
  canRetry: false,
  isBusy: true,
  isLoadingMore: false,
  formats: new Formats(),
};

/** Holds the state of a page and its connection. The state changes only by {@link View.update}, which draws the page. */
export abstract class View<State extends ViewState> {
  readonly host: Host;
  state: State;
  /** The arguments of the tool call that is shown. */
  arguments: Arguments | undefined;
  readonly #draw: () => void;

  /**
   * @param command shows the same in a terminal or a browser, for people whose chat does not answer.
   * @param draw draws the page for the state.
   * @param connect connects to what is around the page: a chat, the command that shows the page in a browser, or a server.
   */
  constructor(command: string, state: State, draw: () => void, connect: (events: HostEvents) => Host) {
    this.state = state;
    this.#draw = draw;
    this.host = connect({
      input: (args) => this.open(args),
      result: (result) => {
        try {
          this.receive(result);
          this.setMembers({ isBusy: false });
        } catch (error) {
          this.#failWith(error);
        }
      },
      cancelled: () => this.#fail('The call was cancelled.'),
      context: (context) => {
        applyTheme(context);
        const formats = new Formats(context);
        // Chats report every change of the page's size too; new formats redraw everything.
        if (!formats.isSame(this.state.formats)) this.setMembers({ formats });
      },
      silent: () =>
        this.announce(
          `The chat does not answer. This page will open as soon as it does; or run ${command} in a terminal.`,
        ),
      failed: (sentence) => this.#fail(sentence),
      ended: (happened, next) => this.setMembers({ notice: `${happened} ${this.keptSentence}${next}` }),
      resumed: (sentence) => {
        this.setMembers({ notice: undefined });
        if (this.state.canRetry) this.open(this.arguments!);
        else this.announce(sentence);
      },
    });
  }

  /** Says what is kept in the browser when heddle has ended; empty if that is nothing. */
  get keptSentence(): string {
    return '';
  }

  /** Shows what the arguments name. A page that is mounted again gets an old result, so it must ask for a new one. */
  abstract open(args: Arguments): void;

  /** Shows the result that the chat has. */
  abstract receive(result: ToolResult): void;

  /** Replaces the state by what `change` makes of it, and draws the page, which is up to date when this returns. */
  update<Args extends unknown[]>(change: (state: State, ...args: Args) => State, ...args: Args): void {
    this.state = change(this.state, ...args);
    this.#draw();
  }

  /** Sets members of the state, and draws the page. */
  setMembers(members: Partial<State> | Partial<ViewState>): void {
    this.update((state) => ({ ...state, ...members }));
  }

  /** Shows a message, and has screen readers say it. */
  announce(message: string): void {
    this.setMembers({ message });
  }

  /** Announces the failure of a call that the page can do without. */
  announceFailure(error: unknown): void {
    this.announce(describeFailure(error).sentence);
  }

  /** Calls a tool, and says so when the host takes long: it may be asking the person. */
  async call<Data>(name: string, args: Arguments): Promise<Data> {
    const timer = setTimeout(() => {
      this.announce(
        this.host.isChat ? 'Waiting for the chat. It may be asking you to allow this.' : 'Waiting for the service …',
      );
    }, slowResponseMs);
    try {
      return dataOf<Data>(await this.host.callTool(name, args));
    } finally {
      clearTimeout(timer);
    }
  }

  /** Loads the list: marks it as busy meanwhile, and lets the person try again if it fails. */
  async load(work: () => Promise<void>): Promise<void> {
    this.setMembers({ canRetry: false, isBusy: true });
    try {
      await work();
      this.setMembers({ canRetry: false, isBusy: false });
    } catch (error) {
      this.#failWith(error);
    }
  }

  /** Loads a further page, unless one is being loaded. */
  async loadFurther(work: () => Promise<void>): Promise<void> {
    if (this.state.isLoadingMore) return;
    this.setMembers({ isLoadingMore: true });
    try {
      await work();
    } catch (error) {
      this.announceFailure(error);
    }
    this.setMembers({ isLoadingMore: false });
  }

  #fail(message: string): void {
    this.setMembers({ message, canRetry: this.arguments !== undefined, isBusy: false });
  }

  #failWith(error: unknown): void {
    const { sentence, detail } = describeFailure(error);
    this.#fail(detail === undefined ? sentence : `${sentence} ${detail}`);
  }
}

/** Draws the line that says what happens, or asks, with a button to try again, and `more` that should always be in view. */
export function statusLine<State extends ViewState>(
  view: View<State>,
  more?: ComponentChild,
  isQuestion = false,
): ComponentChild {
  const { message, notice, canRetry } = view.state;
  const retry = button('Try again', () => view.open(view.arguments!), { hidden: !canRetry });
  const ended = h('p', { class: 'problem', role: 'alert' }, notice);
  const attributes = { class: 'line status', 'data-asking': isQuestion || undefined };
  return h('div', attributes, ended, h('p', { class: 'live', role: 'status' }, message), retry, more);
}
