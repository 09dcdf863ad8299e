/** What a call of a file must be once it is imported. Only the named members are compared, and those whole. */
export interface ExpectedCall {
  id?: string;
  op_name?: string;
  trace_id?: string;
  parent_id?: string;
  thread_id?: string;
  started_at?: string;
  ended_at?: string;
  exception?: string;
  inputs?: unknown;
  output?: unknown;
  attributes?: unknown;
  usage?: unknown;
}

/** An item of the queue: its call, the paths that annotators see, and its state. */
export interface ExpectedItem extends ExpectedCall {
  show?: string[];
  state?: string;
}

/** A kind of file that people have, and what must come out of it. */
export interface ImportKind {
  title: string;
  /** Name of the file, and its content. */
  file: string;
  content: string | Buffer;
  args?: string[];
  /** The items in their order; or a sentence of the refusal. */
  items?: ExpectedItem[];
  refused?: RegExp;
  /** Calls below the items. */
  steps?: ExpectedCall[];
  /** Feedback as `[number of the item, type, value, person, time]`, sorted by item, type and person. */
  feedback?: [item: number, type: string, value: unknown, person: string, at?: string][];
  /** Schemas of the fields of the queue. */
  fields?: Record<string, unknown>;
  /** Something that the command says besides. */
  says?: RegExp;
}

const lines = (...rows: unknown[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

const questions: ExpectedItem[] = [
  {
    inputs: { question: 'Can I export?' },
    output: { answer: 'Yes, as CSV.' },
    show: ['inputs.question', 'output.answer'],
  },
  { inputs: { question: 'Does it work offline?' }, output: { answer: 'Reading does.' } },
];

const umlauts: ExpectedItem[] = [{ inputs: { question: 'Wie groß?' }, output: { answer: 'Zwölf Fuß' } }];

const plainKinds: ImportKind[] = [
  {
    title: 'CSV with commas',
    file: 'answers.csv',
    content: 'question,answer\nCan I export?,"Yes, as CSV."\nDoes it work offline?,Reading does.\n',
    items: questions,
  },
  {
    title: 'CSV with semicolons, and commas in the cells',
    file: 'answers.csv',
    content: 'question;answer\r\nCan I export?;Yes, as CSV.\r\nDoes it work offline?;Reading does.\r\n',
    items: questions,
  },
  {
    title: 'cells separated by tabs',
    file: 'answers.tsv',
    content: 'question\tanswer\nCan I export?\tYes, as CSV.\nDoes it work offline?\tReading does.\n',
    items: questions,
  },
  {
    title: 'cells separated by pipes',
    file: 'answers.txt',
    content: 'question|answer\nCan I export?|Yes, as CSV.\nDoes it work offline?|Reading does.\n',
    items: questions,
  },
  {
    title: 'CSV of Excel with a line that names the separator',
    file: 'excel.csv',
    content: '\ufeffsep=;\r\nquestion;answer\r\nCan I export?;Yes, as CSV.\r\nDoes it work offline?;Reading does.\r\n',
    items: questions,
  },
  {
    title: 'CSV with carriage returns as line ends',
    file: 'mac.csv',
    content: 'question,answer\rCan I export?,"Yes, as CSV."\rDoes it work offline?,Reading does.\r',
    items: questions,
  },
  {
    title: 'CSV with a byte order mark',
    file: 'answers.csv',
    content: '\ufeffquestion,answer\nWie groß?,Zwölf Fuß\n',
    items: umlauts,
  },
  {
    title: 'CSV in UTF-16, little end first, with a mark',
    file: 'unicode.csv',
    content: Buffer.from('\ufeffquestion\tanswer\r\nWie groß?\tZwölf Fuß\r\n', 'utf16le'),
    items: umlauts,
  },
  {
    title: 'CSV in UTF-16, big end first, without a mark',
    file: 'unicode.csv',
    content: Buffer.from('question,answer\nWie groß?,Zwölf Fuß\n', 'utf16le').swap16(),
    items: umlauts,
  },
  {
    title: 'CSV in Windows-1252',
    file: 'windows.csv',
    content: Buffer.concat([
      Buffer.from('question,answer\nWie groß?,Zwölf Fuß ', 'latin1'),
      Buffer.from([0x80]),
      Buffer.from('\n'),
    ]),
    items: [{ inputs: { question: 'Wie groß?' }, output: { answer: 'Zwölf Fuß €' } }],
    says: /windows\.csv is not UTF-8; it was read as Windows-1252\. If letters are wrong, save it as UTF-8\./,
  },
  {
    title: 'UTF-8 with an invalid byte',
    file: 'broken.csv',
    content: Buffer.concat([
      Buffer.from('question,answer\nWie groß?,Zwölf Fuß'),
      Buffer.from([0xff]),
      Buffer.from('\n'),
    ]),
    refused: /broken\.csv is not UTF-8 text: 1 characters of it are invalid\./,
  },
  {
    title: 'CSV with quotes and line ends in cells',
    file: 'quotes.csv',
    content: 'question,answer\n"He asked:\n""Why?""","Line 1\r\nLine 2; more"\n',
    items: [{ inputs: { question: 'He asked:\n"Why?"' }, output: { answer: 'Line 1\r\nLine 2; more' } }],
  },
  {
    title: 'CSV with rows that are too short and too long',
    file: 'ragged.csv',
    content: 'question,answer,model\nShort?,Yes\nLong?,No,small,extra\nTrailing?,No,small,\n',
    items: [
      { inputs: { question: 'Short?' }, output: { answer: 'Yes' } },
      { inputs: { question: 'Long?', model: 'small', column_4: 'extra' }, output: { answer: 'No' } },
      { inputs: { question: 'Trailing?', model: 'small' }, output: { answer: 'No' } },
    ],
    says: /Line 3 has 4 cells, and the first line 3: the others became columns of their own\./,
  },
  {
    title: 'CSV with a name twice, a column without a name, and names that are no part of a path',
    file: 'names.csv',
    content: ',score,score,What is 2.5?\n0,1,2,3\n',
    items: [
      {
        inputs: { column_1: '0', score: '1', score_2: '2', 'What is 2_5?': '3' },
        show: ['inputs.column_1', 'inputs.score', 'inputs.score_2', 'inputs.What is 2_5?'],
      },
    ],
    says: /Two columns have the name "score": the second became "score_2"\./,
  },
  { title: 'an empty file', file: 'empty.csv', content: '', refused: /empty\.csv is empty: it has no rows\./ },
  {
    title: 'a file of white space',
    file: 'blank.jsonl',
    content: '\n \n',
    refused: /blank\.jsonl is empty: it has no rows\./,
  },
  {
    title: 'CSV with a header only',
    file: 'header.csv',
    content: 'question,answer\n',
    refused: /header\.csv has a first line with the names of columns, and no rows\./,
  },
  {
    title: 'CSV with one column',
    file: 'one.csv',
    content: 'text\nFirst\nSecond\n',
    items: [{ inputs: { text: 'First' }, show: ['inputs.text'] }, { inputs: { text: 'Second' } }],
  },
  {
    title: 'CSV with an id, a time, a thread, tags, tokens and an error',
    file: 'log.csv',
    content:
      'id,timestamp,session_id,tags,prompt,completion,model,prompt_tokens,completion_tokens,error\n' +
      '0190b6a0-0000-7000-8000-000000000001,2026-11-02 09:15:00.250,s-1,"billing, vip",Hi,Hello,small,10,5,\n' +
      '0190b6a0-0000-7000-8000-000000000002,1793610905,s-1,,Bye,,small,7,0,timeout\n',
    items: [
      {
        id: '0190b6a0-0000-7000-8000-000000000001',
        op_name: 'import',
        thread_id: 's-1',
        started_at: '2026-11-02T09:15:00.250Z',
        inputs: { prompt: 'Hi', model: 'small' },
        output: { completion: 'Hello' },
        attributes: { tags: ['billing', 'vip'] },
        usage: { small: { requests: 1, prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } },
      },
      {
        id: '0190b6a0-0000-7000-8000-000000000002',
        started_at: '2026-11-02T09:15:05.000Z',
        exception: 'timeout',
        attributes: {},
        usage: { small: { requests: 1, prompt_tokens: 7, completion_tokens: 0, total_tokens: 7 } },
      },
    ],
  },
  {
    title: 'CSV whose columns are named by options',
    file: 'crm.csv',
    content: 'nr,when,frage,kontext,antwort\nA-1,2026-11-02,Warum?,Tarif B,Darum.\n',
    args: [
      '--id',
      'nr',
      '--time',
      'when',
      '--inputs',
      'frage',
      '--output',
      'antwort',
      '--show',
      'antwort,attributes.columns.kontext',
      '--op-name',
      'assistant',
    ],
    items: [
      {
        id: 'A-1',
        op_name: 'assistant',
        started_at: '2026-11-02T00:00:00.000Z',
        inputs: { frage: 'Warum?' },
        output: { antwort: 'Darum.' },
        attributes: { columns: { kontext: 'Tarif B' } },
        show: ['output.antwort', 'attributes.columns.kontext'],
      },
    ],
  },
  {
    title: 'CSV without a column that an option names',
    file: 'answers.csv',
    content: 'question,answer\nWhy?,Because.\n',
    args: ['--output', 'answers'],
    refused:
      /has no column "answers" \(did you mean answer\?\)\.\nNothing was stored\. Its columns are question, answer\./,
  },
  {
    title: 'CSV with a time that is none',
    file: 'times.csv',
    content: 'when,question,answer\n02/11/2026,Why?,Because.\n',
    args: ['--time', 'when'],
    refused: /Line 2 of \S+: when: "02\/11\/2026" is no ISO 8601 date and time/,
  },
  {
    title: 'CSV with judgements of people in columns that fields name',
    file: 'rated.csv',
    content:
      'question,answer,helpful,tone,annotator\nWhy?,Because.,true,kind,ada\nHow?,So.,false,rude,grace\nWho?,Me.,,,\n',
    args: ['--field', 'helpful:boolean', '--field', 'tone:kind|neutral|rude'],
    items: [
      { inputs: { question: 'Why?' }, output: { answer: 'Because.' }, state: 'completed' },
      { inputs: { question: 'How?' }, state: 'completed' },
      { inputs: { question: 'Who?' }, state: 'unstarted' },
    ],
    feedback: [
      [0, 'wandb.annotation.helpful', true, 'ada'],
      [0, 'wandb.annotation.tone', 'kind', 'ada'],
      [1, 'wandb.annotation.helpful', false, 'grace'],
      [1, 'wandb.annotation.tone', 'rude', 'grace'],
    ],
    fields: { helpful: { type: 'boolean' }, tone: { type: 'string', enum: ['kind', 'neutral', 'rude'] } },
  },
  {
    title: 'a JSON array',
    file: 'answers.json',
    content: JSON.stringify(
      [
        { question: 'Can I export?', answer: 'Yes, as CSV.' },
        { question: 'Does it work offline?', answer: 'Reading does.' },
      ],
      null,
      2,
    ),
    items: questions,
  },
  {
    title: 'lines of JSON with carriage returns and an empty line',
    file: 'answers.jsonl',
    content:
      '{"question":"Can I export?","answer":"Yes, as CSV."}\r\n\r\n{"question":"Does it work offline?","answer":"Reading does."}',
    items: questions,
  },
  {
    title: 'a JSON object with one list of rows inside',
    file: 'answers.json',
    content: JSON.stringify({
      generated: '2026-11-02',
      payload: {
        questions: [
          { question: 'Can I export?', answer: 'Yes, as CSV.' },
          { question: 'Does it work offline?', answer: 'Reading does.' },
        ],
      },
    }),
    items: questions,
  },
  {
    title: 'a JSON object with several lists, one of which is named',
    file: 'dump.json',
    content: JSON.stringify({
      users: [{ name: 'Ada' }],
      chats: [{ question: 'Can I export?', answer: 'Yes, as CSV.' }],
    }),
    args: ['--rows', 'chats'],
    items: [questions[0]!],
  },
  {
    title: 'a JSON object with several lists',
    file: 'dump.json',
    content: JSON.stringify({ users: [{ name: 'Ada' }], chats: [{ question: 'Why?', answer: 'Because.' }] }),
    refused:
      /one JSON object with several lists of objects: users \(1\), chats \(1\)\.\nNothing was stored\. Pass the one with the rows, like --rows users\. Its first row: \{"name":"Ada"\}/,
  },
  {
    title: 'a JSON object of unknown form',
    file: 'state.json',
    content: JSON.stringify({ config: { model: 'small' }, history: { first: { turn: 'Hi' } } }),
    refused:
      /The rows of \S+ are not understood\. Row 1: \{"config":\{"model":"small"\},"history":\{"first":\{"turn":"Hi"\}\}\}\nNothing was stored\. Say which values are what, like --inputs config --output history; a path like a\.b reaches into an object\./,
  },
  {
    title: 'rows of unknown form whose values options name by paths',
    file: 'proxy.jsonl',
    content: lines({ req: { body: { text: 'Hi' } }, res: { body: { text: 'Hello' }, ms: 12 } }),
    args: ['--inputs', 'req.body', '--output', 'res.body.text'],
    items: [
      {
        inputs: { body: { text: 'Hi' } },
        output: { text: 'Hello' },
        attributes: { columns: { req: { body: { text: 'Hi' } }, res: { body: { text: 'Hello' }, ms: 12 } } },
      },
    ],
  },
  {
    title: 'a list of texts',
    file: 'texts.json',
    content: '["One", "Two"]',
    refused:
      /The rows of \S+ are not understood\. Row 1: "One"\nNothing was stored\. Each row must be a JSON object, like/,
  },
  {
    title: 'a JSON array that breaks off',
    file: 'cut.json',
    content: '[{"question":"Why?","answer":"Because."},{"question":"Ho',
    refused: /cut\.json ends inside of its list/,
  },
  {
    title: 'CSV with a cell of JSON that is nested too deeply, which stays text',
    file: 'deep.csv',
    content: `question,answer\nWhy?,${'['.repeat(20_000)}${']'.repeat(20_000)}\n`,
    items: [{ inputs: { question: 'Why?' }, output: { answer: `${'['.repeat(20_000)}${']'.repeat(20_000)}` } }],
  },
  {
    title: 'an Excel workbook',
    file: 'sheet.xlsx',
    content: Buffer.from('PK\u0003\u0004workbook'),
    refused: /sheet\.xlsx is an Excel workbook or a ZIP archive: save the sheet as CSV, or unpack the archive\./,
  },
  {
    title: 'a report as HTML',
    file: 'report.html',
    content: '<!DOCTYPE html>\n<html></html>\n',
    refused: /report\.html is HTML or XML\.\nNothing was stored\. Export it as CSV or JSON\./,
  },
];

const huggingFaceKinds: ImportKind[] = [
  {
    title: 'Hugging Face: lines of a dataset',
    file: 'train.jsonl',
    content: lines({ text: 'Great film.', label: 1 }, { text: 'Dull.', label: 0 }),
    items: [
      { inputs: { text: 'Great film.', label: 1 }, show: ['inputs.text', 'inputs.label'] },
      { inputs: { text: 'Dull.', label: 0 } },
    ],
  },
  {
    title: 'Hugging Face: a page of the rows API',
    file: 'rows.json',
    content: JSON.stringify({
      features: [
        { feature_idx: 0, name: 'question', type: { dtype: 'string', _type: 'Value' } },
        { feature_idx: 1, name: 'answer', type: { dtype: 'string', _type: 'Value' } },
      ],
      rows: [
        { row_idx: 0, row: { question: 'Can I export?', answer: 'Yes, as CSV.' }, truncated_cells: [] },
        { row_idx: 1, row: { question: 'Does it work offline?', answer: 'Reading does.' }, truncated_cells: [] },
      ],
      num_rows_total: 2,
      num_rows_per_page: 100,
      partial: false,
    }),
    items: questions,
  },
  {
    title: 'Hugging Face: conversations',
    file: 'sharegpt.json',
    content: JSON.stringify([
      {
        id: 'identity_0',
        conversations: [
          { from: 'human', value: 'Who are you?' },
          { from: 'gpt', value: 'A model.' },
        ],
      },
    ]),
    items: [
      {
        op_name: 'chat',
        inputs: { messages: [{ from: 'human', value: 'Who are you?' }] },
        output: { from: 'gpt', value: 'A model.' },
        attributes: { id: 'identity_0' },
        show: ['inputs.messages', 'output.value'],
      },
    ],
  },
];

const openaiKinds: ImportKind[] = [
  {
    title: 'OpenAI: conversations for fine-tuning',
    file: 'training.jsonl',
    content: lines(
      {
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Why?' },
          { role: 'assistant', content: 'Because.' },
        ],
      },
      { messages: [{ role: 'user', content: 'And?' }] },
    ),
    items: [
      {
        op_name: 'chat',
        inputs: {
          messages: [
            { role: 'system', content: 'Be brief.' },
            { role: 'user', content: 'Why?' },
          ],
        },
        output: { role: 'assistant', content: 'Because.' },
        show: ['inputs.messages', 'output.content'],
      },
      { inputs: { messages: [{ role: 'user', content: 'And?' }] }, show: ['inputs.messages'] },
    ],
  },
  {
    title: 'OpenAI: requests of a batch',
    file: 'batch.jsonl',
    content: lines({
      custom_id: 'request-1',
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 100 },
    }),
    items: [
      {
        op_name: '/v1/chat/completions',
        inputs: { custom_id: 'request-1', messages: [{ role: 'user', content: 'Hello' }] },
        attributes: { model: 'gpt-4o-mini', parameters: { model: 'gpt-4o-mini', max_tokens: 100 } },
      },
    ],
  },
  {
    title: 'OpenAI: results of a batch',
    file: 'batch_output.jsonl',
    content: lines(
      {
        id: 'batch_req_1',
        custom_id: 'request-1',
        response: {
          status_code: 200,
          request_id: 'req_1',
          body: {
            id: 'chatcmpl-1',
            object: 'chat.completion',
            created: 1793610900,
            model: 'gpt-4o-mini-2024-07-18',
            choices: [
              {
                index: 0,
                message: { role: 'assistant', content: 'Hello! How can I help?', refusal: null },
                logprobs: null,
                finish_reason: 'stop',
              },
            ],
            usage: { prompt_tokens: 8, completion_tokens: 7, total_tokens: 15 },
          },
        },
        error: null,
      },
      {
        id: 'batch_req_2',
        custom_id: 'request-2',
        response: null,
        error: {
          code: 'batch_expired',
          message: 'This request could not be executed before the completion window expired.',
        },
      },
    ),
    items: [
      {
        id: 'batch_req_1',
        op_name: 'chat.completion',
        started_at: '2026-11-02T09:15:00.000Z',
        inputs: { custom_id: 'request-1' },
        output: { role: 'assistant', content: 'Hello! How can I help?', refusal: null },
        usage: { 'gpt-4o-mini-2024-07-18': { requests: 1, prompt_tokens: 8, completion_tokens: 7, total_tokens: 15 } },
        attributes: { model: 'gpt-4o-mini-2024-07-18' },
      },
      { id: 'batch_req_2', exception: 'This request could not be executed before the completion window expired.' },
    ],
  },
  {
    title: 'OpenAI: stored completions',
    file: 'completions.json',
    content: JSON.stringify({
      object: 'list',
      data: [
        {
          object: 'chat.completion',
          id: 'chatcmpl-AyPNinnUqUDYo9SAdA52NobMflmj2',
          model: 'gpt-4o-2024-08-06',
          created: 1793610900,
          request_id: 'req_ded8ab984ec4bf840f37566c1011c417',
          metadata: { team: 'support' },
          choices: [
            { index: 0, message: { content: 'Mind of circuits hum', role: 'assistant' }, finish_reason: 'stop' },
          ],
          usage: { total_tokens: 31, completion_tokens: 18, prompt_tokens: 13 },
        },
      ],
      first_id: 'chatcmpl-AyPNinnUqUDYo9SAdA52NobMflmj2',
      has_more: false,
    }),
    items: [
      {
        id: 'chatcmpl-AyPNinnUqUDYo9SAdA52NobMflmj2',
        started_at: '2026-11-02T09:15:00.000Z',
        output: { content: 'Mind of circuits hum', role: 'assistant' },
        attributes: { model: 'gpt-4o-2024-08-06', metadata: { team: 'support' } },
        usage: { 'gpt-4o-2024-08-06': { requests: 1, prompt_tokens: 13, completion_tokens: 18, total_tokens: 31 } },
      },
    ],
  },
  {
    title: 'OpenAI: logs of responses',
    file: 'responses.jsonl',
    content: lines({
      id: 'resp_1',
      object: 'response',
      created_at: 1793610900,
      status: 'completed',
      error: null,
      instructions: 'Be brief.',
      input: [{ role: 'user', content: 'Tell me a story.' }],
      model: 'gpt-4.1',
      output: [
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'Once upon a time.', annotations: [] }],
        },
      ],
      usage: { input_tokens: 36, output_tokens: 87, total_tokens: 123 },
      metadata: {},
    }),
    items: [
      {
        id: 'resp_1',
        op_name: 'response',
        inputs: { instructions: 'Be brief.', input: [{ role: 'user', content: 'Tell me a story.' }] },
        output: 'Once upon a time.',
        usage: { 'gpt-4.1': { requests: 1, prompt_tokens: 36, completion_tokens: 87, total_tokens: 123 } },
        show: ['inputs.instructions', 'inputs.input', 'output'],
      },
    ],
  },
  {
    title: 'OpenAI: logs with the request and the response',
    file: 'requests.jsonl',
    content: lines({
      provider: 'openai',
      request: { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] },
      response: {
        id: 'chatcmpl-7',
        object: 'chat.completion',
        created: 1793610900,
        model: 'gpt-4o',
        choices: [{ message: { role: 'assistant', content: 'Hello' } }],
      },
    }),
    items: [
      {
        id: 'chatcmpl-7',
        inputs: { messages: [{ role: 'user', content: 'Hi' }] },
        output: { role: 'assistant', content: 'Hello' },
        attributes: { model: 'gpt-4o', log: { provider: 'openai' } },
      },
    ],
  },
  {
    title: 'OpenAI: results of an evaluation',
    file: 'eval.jsonl',
    content: lines({
      object: 'eval.run.output_item',
      id: 'outputitem_1',
      created_at: 1793610900,
      run_id: 'evalrun_1',
      eval_id: 'eval_1',
      status: 'pass',
      datasource_item_id: 5,
      datasource_item: { item: { input: 'Stocks rise', ground_truth: 'Markets' } },
      results: [{ name: 'String check', type: 'string_check', passed: true, score: 1 }],
      sample: {
        input: [{ role: 'user', content: 'Stocks rise' }],
        output: [{ role: 'assistant', content: 'Markets' }],
        finish_reason: 'stop',
        model: 'gpt-4o-mini',
        usage: { total_tokens: 325, completion_tokens: 2, prompt_tokens: 323, cached_tokens: 0 },
        error: null,
      },
    }),
    items: [
      {
        id: 'outputitem_1',
        inputs: { input: 'Stocks rise', ground_truth: 'Markets', messages: [{ role: 'user', content: 'Stocks rise' }] },
        output: 'Markets',
        attributes: { model: 'gpt-4o-mini', openai: { eval_id: 'eval_1', run_id: 'evalrun_1' } },
      },
    ],
    feedback: [[0, 'wandb.runnable.String_check', true, 'import']],
  },
];

const langfuseTrace = {
  id: 'trace-1',
  timestamp: '2026-11-02T09:15:00.250Z',
  name: 'support-chat',
  userId: 'user-7',
  sessionId: 'session-1',
  release: null,
  version: null,
  environment: 'production',
  tags: ['billing'],
  bookmarked: false,
  public: false,
  input: { question: 'Can I export?' },
  output: 'Yes, as CSV.',
  metadata: { region: 'eu' },
};

const langfuseKinds: ImportKind[] = [
  {
    title: 'Langfuse: traces as JSON of the interface, with scores as columns',
    file: 'traces.json',
    content: JSON.stringify([
      {
        ...langfuseTrace,
        latency: 1.5,
        usage: { promptTokens: 12, completionTokens: 8, totalTokens: 20 },
        inputCost: 0.001,
        outputCost: 0.002,
        totalCost: 0.003,
        level: 'DEFAULT',
        errorCount: 0,
        observationCount: 2,
        correctness: [0.9],
        tone: ['kind'],
        toxicity: null,
      },
    ]),
    items: [
      {
        id: 'trace-1',
        op_name: 'support-chat',
        trace_id: 'trace-1',
        thread_id: 'session-1',
        started_at: '2026-11-02T09:15:00.250Z',
        ended_at: '2026-11-02T09:15:01.750Z',
        inputs: { question: 'Can I export?' },
        output: 'Yes, as CSV.',
        usage: { unknown: { requests: 1, prompt_tokens: 12, completion_tokens: 8, total_tokens: 20 } },
        attributes: {
          tags: ['billing'],
          metadata: { region: 'eu' },
          user_id: 'user-7',
          session_id: 'session-1',
          langfuse: {
            environment: 'production',
            bookmarked: false,
            public: false,
            latency: 1.5,
            input_cost: 0.001,
            output_cost: 0.002,
            total_cost: 0.003,
            level: 'DEFAULT',
            error_count: 0,
            observation_count: 2,
          },
        },
        show: ['inputs.question', 'output'],
      },
    ],
    feedback: [
      [0, 'wandb.runnable.correctness', 0.9, 'import'],
      [0, 'wandb.runnable.tone', 'kind', 'import'],
    ],
  },
  {
    title: 'Langfuse: traces as CSV',
    file: 'traces.csv',
    content:
      'id,timestamp,name,userId,sessionId,release,version,environment,tags,bookmarked,public,input,output,metadata,latency,level,correctness\n' +
      'trace-1,2026-11-02T09:15:00.250Z,support-chat,user-7,session-1,,,production,"[""billing""]",false,false,"{""question"":""Can I export?""}","""Yes, as CSV.""","{""region"":""eu""}",1.5,DEFAULT,"[0.9]"\n',
    items: [
      {
        id: 'trace-1',
        op_name: 'support-chat',
        inputs: { question: 'Can I export?' },
        output: 'Yes, as CSV.',
        ended_at: '2026-11-02T09:15:01.750Z',
      },
    ],
    feedback: [[0, 'wandb.runnable.correctness', 0.9, 'import']],
  },
  {
    title: 'Langfuse: a page of traces of the API',
    file: 'page.json',
    content: JSON.stringify({
      data: [
        {
          ...langfuseTrace,
          htmlPath: '/project/p/traces/trace-1',
          latency: 1.5,
          totalCost: 0.003,
          observations: ['obs-1'],
          scores: ['score-1'],
        },
      ],
      meta: { page: 1, limit: 50, totalItems: 1, totalPages: 1 },
    }),
    items: [{ id: 'trace-1', inputs: { question: 'Can I export?' }, output: 'Yes, as CSV.', thread_id: 'session-1' }],
  },
  {
    title: 'Langfuse: a trace with its observations and scores',
    file: 'trace.json',
    content: JSON.stringify({
      ...langfuseTrace,
      htmlPath: '/project/p/traces/trace-1',
      latency: 1.5,
      totalCost: 0.003,
      observations: [
        {
          id: 'obs-1',
          traceId: 'trace-1',
          type: 'GENERATION',
          name: 'answer',
          startTime: '2026-11-02T09:15:00.300Z',
          endTime: '2026-11-02T09:15:01.700Z',
          model: 'gpt-4o',
          input: [{ role: 'user', content: 'Can I export?' }],
          output: null,
          usage: { input: 12, output: 8, total: 20, unit: 'TOKENS' },
          level: 'ERROR',
          statusMessage: 'rate limited',
          parentObservationId: null,
        },
      ],
      scores: [
        {
          id: 'score-1',
          traceId: 'trace-1',
          name: 'Answer quality',
          source: 'ANNOTATION',
          dataType: 'NUMERIC',
          value: 4,
          comment: 'Short.',
          authorUserId: 'ada',
          timestamp: '2026-11-03T10:00:00.000Z',
          observationId: null,
        },
        {
          id: 'score-2',
          traceId: 'trace-1',
          name: 'resolved',
          source: 'ANNOTATION',
          dataType: 'BOOLEAN',
          value: 1,
          stringValue: 'True',
          authorUserId: 'grace',
          timestamp: '2026-11-03T11:00:00.000Z',
          observationId: null,
        },
        {
          id: 'score-3',
          traceId: 'trace-1',
          name: 'toxicity',
          source: 'EVAL',
          dataType: 'CATEGORICAL',
          stringValue: 'none',
          value: null,
          comment: 'Polite.',
          timestamp: '2026-11-02T09:16:00.000Z',
          observationId: null,
        },
      ],
    }),
    items: [{ id: 'trace-1', state: 'completed', show: ['inputs.question', 'output'] }],
    steps: [
      {
        id: 'obs-1',
        op_name: 'answer',
        trace_id: 'trace-1',
        parent_id: 'trace-1',
        started_at: '2026-11-02T09:15:00.300Z',
        ended_at: '2026-11-02T09:15:01.700Z',
        exception: 'rate limited',
        inputs: { input: [{ role: 'user', content: 'Can I export?' }] },
        usage: { 'gpt-4o': { requests: 1, prompt_tokens: 12, completion_tokens: 8, total_tokens: 20 } },
      },
    ],
    feedback: [
      [0, 'wandb.annotation.Answer_quality', 4, 'ada', '2026-11-03T10:00:00.000'],
      [0, 'wandb.annotation.resolved', true, 'grace', '2026-11-03T11:00:00.000'],
      [0, 'wandb.note.1', 'Short.', 'ada', '2026-11-03T10:00:00.000'],
      [0, 'wandb.runnable.toxicity', 'none', 'import', '2026-11-02T09:16:00.000'],
    ],
    fields: { Answer_quality: { type: 'integer' }, resolved: { type: 'boolean' } },
  },
  {
    title: 'Langfuse: lines of a blob storage with observations',
    file: 'observations.jsonl',
    content: lines(
      {
        id: 'span-1',
        trace_id: 'trace-1',
        parent_observation_id: null,
        type: 'SPAN',
        name: 'handle',
        start_time: '2026-11-02 09:15:00.250000',
        end_time: '2026-11-02 09:15:01.750000',
        level: 'DEFAULT',
        status_message: null,
        input: '{"question":"Can I export?"}',
        output: 'Yes, as CSV.',
        metadata: {},
        session_id: 'session-1',
        user_id: 'user-7',
      },
      {
        id: 'gen-1',
        trace_id: 'trace-1',
        parent_observation_id: 'span-1',
        type: 'GENERATION',
        name: 'answer',
        start_time: '2026-11-02 09:15:00.300000',
        end_time: '2026-11-02 09:15:01.700000',
        provided_model_name: 'gpt-4o',
        usage_details: { input: 12, output: 8, total: 20 },
        level: 'DEFAULT',
        input: '[{"role":"user","content":"Can I export?"}]',
        output: '{"role":"assistant","content":"Yes, as CSV."}',
      },
    ),
    items: [
      {
        id: 'span-1',
        op_name: 'handle',
        trace_id: 'trace-1',
        thread_id: 'session-1',
        started_at: '2026-11-02T09:15:00.250Z',
        inputs: { question: 'Can I export?' },
        output: 'Yes, as CSV.',
      },
    ],
    steps: [
      {
        id: 'gen-1',
        parent_id: 'span-1',
        output: { role: 'assistant', content: 'Yes, as CSV.' },
        usage: { 'gpt-4o': { requests: 1, prompt_tokens: 12, completion_tokens: 8, total_tokens: 20 } },
      },
    ],
  },
  {
    title: 'Langfuse: traces and scores in lines of one file',
    file: 'mixed.jsonl',
    content: lines(
      { ...langfuseTrace, id: 'trace-9' },
      {
        id: 's-1',
        trace_id: 'trace-9',
        observation_id: null,
        name: 'helpful',
        source: 'ANNOTATION',
        data_type: 'CATEGORICAL',
        value: null,
        string_value: 'yes',
        author_user_id: 'ada',
        comment: null,
        timestamp: '2026-11-03 10:00:00.000000',
      },
      {
        id: 's-2',
        trace_id: 'trace-x',
        observation_id: null,
        name: 'helpful',
        source: 'API',
        data_type: 'NUMERIC',
        value: 1,
        timestamp: '2026-11-03 10:00:00.000000',
      },
    ),
    items: [{ id: 'trace-9', state: 'completed' }],
    feedback: [[0, 'wandb.annotation.helpful', 'yes', 'ada', '2026-11-03T10:00:00.000']],
    fields: { helpful: { type: 'string', enum: ['yes'] } },
    says: /Left out the judgements and scores of 1 call that the project does not have: import the file with the calls, then this one again\./,
  },
  {
    title: 'Langfuse: items of a dataset',
    file: 'dataset.json',
    content: JSON.stringify([
      {
        id: 'item-1',
        datasetId: 'd-1',
        datasetName: 'faq',
        status: 'ACTIVE',
        input: { question: 'Can I export?' },
        expectedOutput: 'Yes, as CSV.',
        metadata: null,
        sourceTraceId: null,
        sourceObservationId: null,
        createdAt: '2026-11-01T08:00:00.000Z',
        updatedAt: '2026-11-01T08:00:00.000Z',
      },
    ]),
    items: [
      {
        id: 'item-1',
        op_name: 'faq',
        started_at: '2026-11-01T08:00:00.000Z',
        inputs: { question: 'Can I export?', expected_output: 'Yes, as CSV.' },
      },
    ],
  },
];

const langsmithRun = {
  id: '11111111-1111-4111-8111-111111111111',
  name: 'SupportChain',
  run_type: 'chain',
  start_time: '2026-11-02T09:15:00.250000',
  end_time: '2026-11-02T09:15:01.750000',
  trace_id: '11111111-1111-4111-8111-111111111111',
  parent_run_id: null,
  dotted_order: '20261102T091500250000Z11111111-1111-4111-8111-111111111111',
  session_id: '99999999-9999-4999-8999-999999999999',
  status: 'success',
  error: null,
  inputs: { question: 'Can I export?' },
  outputs: { answer: 'Yes, as CSV.' },
  extra: { metadata: { thread_id: 'thread-1', region: 'eu' } },
  tags: ['billing'],
  prompt_tokens: 0,
  completion_tokens: 0,
  total_tokens: 0,
  feedback_stats: null,
};

const langsmithKinds: ImportKind[] = [
  {
    title: 'LangSmith: lines of runs with a child run',
    file: 'runs.jsonl',
    content: lines(
      {
        ...langsmithRun,
        id: '22222222-2222-4222-8222-222222222222',
        name: 'ChatOpenAI',
        run_type: 'llm',
        parent_run_id: langsmithRun.id,
        inputs: { messages: [[{ type: 'human', content: 'Can I export?' }]] },
        outputs: null,
        status: 'error',
        error: 'RateLimitError()',
        extra: { metadata: { ls_model_name: 'gpt-4o', ls_provider: 'openai' }, invocation_params: { model: 'gpt-4o' } },
        tags: [],
        prompt_tokens: 12,
        completion_tokens: 8,
        total_tokens: 20,
      },
      {
        ...langsmithRun,
        feedback_stats: { helpfulness: { n: 2, avg: 0.5, values: {} }, tone: { n: 1, avg: null, values: { kind: 1 } } },
      },
    ),
    items: [
      {
        id: '11111111-1111-4111-8111-111111111111',
        op_name: 'SupportChain',
        trace_id: '11111111-1111-4111-8111-111111111111',
        thread_id: 'thread-1',
        started_at: '2026-11-02T09:15:00.250Z',
        ended_at: '2026-11-02T09:15:01.750Z',
        inputs: { question: 'Can I export?' },
        output: { answer: 'Yes, as CSV.' },
        attributes: {
          kind: 'chain',
          tags: ['billing'],
          metadata: { thread_id: 'thread-1', region: 'eu' },
          langsmith: {
            dotted_order: '20261102T091500250000Z11111111-1111-4111-8111-111111111111',
            session_id: '99999999-9999-4999-8999-999999999999',
            status: 'success',
          },
        },
        show: ['inputs.question', 'output.answer'],
      },
    ],
    steps: [
      {
        id: '22222222-2222-4222-8222-222222222222',
        parent_id: '11111111-1111-4111-8111-111111111111',
        exception: 'RateLimitError()',
        usage: { 'gpt-4o': { requests: 1, prompt_tokens: 12, completion_tokens: 8, total_tokens: 20 } },
      },
    ],
    feedback: [
      [0, 'wandb.runnable.helpfulness', 0.5, 'import'],
      [0, 'wandb.runnable.tone', 'kind', 'import'],
    ],
  },
  {
    title: 'LangSmith: runs of models only, without their parents, as JSON',
    file: 'llm-runs.json',
    content: JSON.stringify({
      runs: [
        {
          ...langsmithRun,
          id: '33333333-3333-4333-8333-333333333333',
          run_type: 'llm',
          parent_run_id: '44444444-4444-4444-8444-444444444444',
          feedback: [
            {
              key: 'helpful',
              score: true,
              value: null,
              comment: 'Good.',
              feedback_source: { type: 'app', user_id: 'ada' },
              created_at: '2026-11-03T10:00:00.000000',
            },
            {
              key: 'judge',
              score: 0.8,
              value: null,
              comment: 'By a model.',
              feedback_source: { type: 'model' },
              created_at: '2026-11-03T10:00:00.000000',
            },
          ],
        },
      ],
      cursors: { next: null },
    }),
    items: [
      {
        id: '33333333-3333-4333-8333-333333333333',
        parent_id: '44444444-4444-4444-8444-444444444444',
        state: 'completed',
      },
    ],
    feedback: [
      [0, 'wandb.annotation.helpful', true, 'ada', '2026-11-03T10:00:00.000'],
      [0, 'wandb.note.1', 'Good.', 'ada', '2026-11-03T10:00:00.000'],
      [0, 'wandb.runnable.judge', 0.8, 'import', '2026-11-03T10:00:00.000'],
    ],
    fields: { helpful: { type: 'boolean' } },
  },
  {
    title: 'LangSmith: lines of a dataset',
    file: 'examples.jsonl',
    content: lines({
      id: '55555555-5555-4555-8555-555555555555',
      created_at: '2026-11-01T08:00:00.000000+00:00',
      dataset_id: '66666666-6666-4666-8666-666666666666',
      source_run_id: null,
      metadata: { dataset_split: ['base'] },
      inputs: { question: 'Can I export?' },
      outputs: { answer: 'Yes, as CSV.' },
    }),
    items: [
      {
        id: '55555555-5555-4555-8555-555555555555',
        op_name: 'dataset',
        started_at: '2026-11-01T08:00:00.000Z',
        inputs: { question: 'Can I export?' },
        output: { answer: 'Yes, as CSV.' },
      },
    ],
  },
  {
    title: 'LangSmith: a dataset as CSV',
    file: 'dataset.csv',
    content: 'input_question,output_answer\nCan I export?,"Yes, as CSV."\nDoes it work offline?,Reading does.\n',
    items: questions,
  },
];

const promptfooResult = {
  id: 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa',
  promptIdx: 0,
  testIdx: 0,
  promptId: 'p-1',
  provider: { id: 'openai:gpt-4o-mini', label: '' },
  prompt: { raw: 'Answer: Can I export?', label: 'Answer: {{question}}' },
  vars: { question: 'Can I export?' },
  testCase: {
    description: 'export',
    vars: { question: 'Can I export?' },
    assert: [{ type: 'icontains', value: 'yes' }],
    options: {},
    metadata: {},
  },
  response: {
    output: 'Yes, as CSV.',
    tokenUsage: { total: 20, prompt: 12, completion: 8 },
    cached: false,
    finishReason: 'stop',
  },
  success: true,
  score: 1,
  failureReason: 0,
  latencyMs: 1500,
  cost: 0.0001,
  namedScores: { brevity: 0.7 },
  metadata: {},
};

const promptfooKinds: ImportKind[] = [
  {
    title: 'promptfoo: the file of an evaluation',
    file: 'results.json',
    content: JSON.stringify({
      evalId: 'eval-abc-2026-11-02T09:15:00',
      results: {
        version: 3,
        timestamp: '2026-11-02T09:15:00.000Z',
        prompts: [
          {
            raw: 'Answer: {{question}}',
            label: 'Answer: {{question}}',
            provider: 'openai:gpt-4o-mini',
            metrics: { score: 1 },
          },
        ],
        results: [
          {
            ...promptfooResult,
            gradingResult: {
              pass: true,
              score: 1,
              reason: 'All assertions passed',
              namedScores: { brevity: 0.7 },
              comment: 'Nice and short.',
              componentResults: [{ pass: true, score: 1, reason: 'Manual result', assertion: { type: 'human' } }],
            },
          },
          {
            ...promptfooResult,
            id: 'bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb',
            testIdx: 1,
            response: { error: 'API error: 429' },
            error: 'API error: 429',
            success: false,
            score: 0,
            namedScores: {},
            gradingResult: null,
          },
        ],
        stats: { successes: 1, failures: 0, errors: 1, tokenUsage: { total: 20 } },
      },
      config: {
        description: 'Support',
        providers: [{ id: 'openai:gpt-4o-mini' }],
        tests: [{ vars: { question: 'Can I export?' } }],
      },
      shareableUrl: null,
      metadata: {
        promptfooVersion: '0.119.0',
        nodeVersion: 'v22.13.0',
        exportedAt: '2026-11-02T09:20:00.000Z',
        evaluationCreatedAt: '2026-11-02T09:15:00.000Z',
        author: 'ada@example.com',
      },
    }),
    items: [
      {
        id: 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa',
        op_name: 'promptfoo',
        started_at: '2026-11-02T09:15:00.000Z',
        ended_at: '2026-11-02T09:15:01.500Z',
        inputs: { question: 'Can I export?', prompt: 'Answer: Can I export?' },
        output: 'Yes, as CSV.',
        attributes: {
          provider: 'openai:gpt-4o-mini',
          prompt_label: 'Answer: {{question}}',
          promptfoo: {
            evaluation: 'eval-abc-2026-11-02T09:15:00',
            description: 'export',
            test: 0,
            prompt: 0,
            cost: 0.0001,
          },
        },
        usage: { 'openai:gpt-4o-mini': { requests: 1, prompt_tokens: 12, completion_tokens: 8, total_tokens: 20 } },
        state: 'completed',
      },
      { id: 'bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb', exception: 'API error: 429', state: 'unstarted' },
    ],
    feedback: [
      [0, 'wandb.annotation.pass', true, 'ada@example.com'],
      [0, 'wandb.note.1', 'Nice and short.', 'ada@example.com'],
      [0, 'wandb.runnable.brevity', 0.7, 'import'],
      [0, 'wandb.runnable.pass', true, 'import'],
      [0, 'wandb.runnable.score', 1, 'import'],
      [1, 'wandb.runnable.pass', false, 'import'],
      [1, 'wandb.runnable.score', 0, 'import'],
    ],
    fields: { pass: { type: 'boolean' } },
  },
  {
    title: 'promptfoo: the table as CSV with two prompts',
    file: 'results.csv',
    content:
      'question,[openai:gpt-4o-mini] brief,Status,Score,Named Scores,Metric: brevity,Grader Reason,Comment,[openai:gpt-4o] long,Status,Score,Named Scores,Grader Reason,Comment\n' +
      'Can I export?,"Yes, as CSV.",PASS,1.00,"{""brevity"":0.7}",0.70,All assertions passed,Nice,Timeout,ERROR,0.00,,API error,\n',
    items: [
      {
        op_name: 'promptfoo',
        inputs: { question: 'Can I export?' },
        output: 'Yes, as CSV.',
        attributes: { provider: 'openai:gpt-4o-mini', prompt_label: 'brief' },
        show: ['inputs.question', 'output'],
      },
      {
        inputs: { question: 'Can I export?' },
        exception: 'Timeout',
        attributes: { provider: 'openai:gpt-4o', prompt_label: 'long' },
      },
    ],
    feedback: [
      [0, 'wandb.note.1', 'Nice', 'promptfoo'],
      [0, 'wandb.runnable.brevity', 0.7, 'import'],
      [0, 'wandb.runnable.pass', true, 'import'],
      [0, 'wandb.runnable.score', 1, 'import'],
      [1, 'wandb.runnable.score', 0, 'import'],
    ],
  },
  {
    title: 'promptfoo: lines of results',
    file: 'results.jsonl',
    content: lines({ ...promptfooResult, gradingResult: { pass: true, score: 1, reason: 'All assertions passed' } }),
    items: [{ id: 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa', output: 'Yes, as CSV.' }],
    feedback: [
      [0, 'wandb.runnable.brevity', 0.7, 'import'],
      [0, 'wandb.runnable.pass', true, 'import'],
      [0, 'wandb.runnable.score', 1, 'import'],
    ],
  },
];

const exported = {
  project_id: 'team/support',
  queue_id: 'review',
  item_id: 'item-1',
  call_id: 'call-1',
  call_op_name: 'answer',
  call_started_at: '2026-11-02T09:15:00.000Z',
  annotation_state: 'completed',
};

const heddleKinds: ImportKind[] = [
  {
    title: 'heddle: judgements as lines of JSON',
    file: 'judgements.jsonl',
    content: lines(
      {
        ...exported,
        field: 'helpful',
        value: true,
        annotator: 'ada',
        judged_at: '2026-11-03T10:00:00.000Z',
        call_values: { 'inputs.question': 'Why?', 'output.messages[0].content': 'Because.' },
      },
      {
        ...exported,
        note: '+1',
        annotator: 'ada',
        judged_at: '2026-11-03T10:00:00.001Z',
        call_values: { 'inputs.question': 'Why?', 'output.messages[0].content': 'Because.' },
      },
      {
        ...exported,
        field: 'helpful',
        value: false,
        annotator: 'grace (claude via heddle)',
        judged_at: '2026-11-03T11:00:00.000Z',
        call_values: { 'inputs.question': 'Why?', 'output.messages[0].content': 'Because.' },
      },
    ),
    items: [
      {
        id: 'call-1',
        op_name: 'answer',
        started_at: '2026-11-02T09:15:00.000Z',
        inputs: { question: 'Why?' },
        output: { messages: [{ content: 'Because.' }] },
        show: ['inputs.question', 'output.messages[0].content'],
        state: 'completed',
      },
    ],
    feedback: [
      [0, 'wandb.annotation.helpful', true, 'ada', '2026-11-03T10:00:00.000'],
      [0, 'wandb.annotation.helpful', false, 'grace (claude via heddle)', '2026-11-03T11:00:00.000'],
      [0, 'wandb.note.1', '+1', 'ada', '2026-11-03T10:00:00.001'],
    ],
    fields: { helpful: { type: 'boolean' } },
  },
  {
    title: 'heddle: judgements as CSV with formulas',
    file: 'judgements.csv',
    content:
      'project_id,queue_id,item_id,call_id,call_op_name,call_started_at,annotation_state,field,value,note,annotator,judged_at,call.inputs.question,call.output.answer\r\n' +
      `team/support,review,item-1,call-1,answer,2026-11-02T09:15:00.000Z,completed,score,4,,ada,2026-11-03T10:00:00.000Z,'=HYPERLINK(1),-5\r\n` +
      `team/support,review,item-1,call-1,answer,2026-11-02T09:15:00.000Z,completed,why,'@sum(A1),,ada,2026-11-03T10:00:00.001Z,'=HYPERLINK(1),-5\r\n`,
    items: [{ id: 'call-1', inputs: { question: '=HYPERLINK(1)' }, output: { answer: '-5' }, state: 'completed' }],
    feedback: [
      [0, 'wandb.annotation.score', 4, 'ada', '2026-11-03T10:00:00.000'],
      [0, 'wandb.annotation.why', '@sum(A1)', 'ada', '2026-11-03T10:00:00.001'],
    ],
    fields: { score: { type: 'integer' }, why: { type: 'string', enum: ['@sum(A1)'] } },
  },
  {
    title: 'heddle: lines of items',
    file: 'items.jsonl',
    content: lines({
      call_id: 'call-2',
      call_op_name: 'answer',
      call_trace_id: 'trace-2',
      call_started_at: '2026-11-02T09:15:00Z',
      display_fields: ['inputs.question'],
      call: { inputs: { question: 'Why?' } },
      judgements: [{ field: 'tone', value: 'kind', annotator: 'ada' }],
    }),
    items: [
      {
        id: 'call-2',
        op_name: 'answer',
        trace_id: 'trace-2',
        inputs: { question: 'Why?' },
        show: ['inputs.question'],
        state: 'completed',
      },
    ],
    feedback: [[0, 'wandb.annotation.tone', 'kind', 'ada']],
    fields: { tone: { type: 'string', enum: ['kind'] } },
  },
  {
    title: 'recorded calls as the interface lists them',
    file: 'calls.jsonl',
    content: lines({
      id: '0190b6a0-0000-7000-8000-00000000000a',
      project_id: 'team/support',
      op_name: 'weave:///team/support/op/answer:abc',
      trace_id: 'trace-3',
      parent_id: null,
      started_at: '2026-11-02T09:15:00.000Z',
      ended_at: '2026-11-02T09:15:01.000Z',
      inputs: { question: 'Why?' },
      output: { answer: 'Because.' },
      summary: { usage: { small: { requests: 1, prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } } },
      attributes: { weave: { client_version: '0.1' } },
    }),
    items: [
      {
        id: '0190b6a0-0000-7000-8000-00000000000a',
        op_name: 'weave:///team/support/op/answer:abc',
        trace_id: 'trace-3',
        inputs: { question: 'Why?' },
        output: { answer: 'Because.' },
        usage: { small: { requests: 1, prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } },
      },
    ],
  },
];

const span = {
  traceId: '5b8efff798038103d269b633813fc60c',
  spanId: 'eee19b7ec3c1b174',
  parentSpanId: '',
  name: 'chat small',
  kind: 3,
  startTimeUnixNano: '1793610900250000000',
  endTimeUnixNano: '1793610901750000000',
  attributes: [
    { key: 'gen_ai.request.model', value: { stringValue: 'small' } },
    { key: 'gen_ai.usage.input_tokens', value: { intValue: '12' } },
    { key: 'gen_ai.usage.output_tokens', value: { intValue: '8' } },
    { key: 'gen_ai.prompt.0.role', value: { stringValue: 'user' } },
    { key: 'gen_ai.prompt.0.content', value: { stringValue: 'Why?' } },
    { key: 'gen_ai.completion.0.role', value: { stringValue: 'assistant' } },
    { key: 'gen_ai.completion.0.content', value: { stringValue: 'Because.' } },
  ],
  status: { code: 2, message: 'cut off' },
};
const otlp = (...spans: object[]) => ({
  resourceSpans: [
    {
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'bot' } }] },
      scopeSpans: [{ scope: {}, spans }],
    },
  ],
});
const child = { ...span, spanId: 'aaa19b7ec3c1b174', parentSpanId: span.spanId, name: 'tool', status: {} };

const otlpKinds: ImportKind[] = [
  {
    title: 'OpenTelemetry: spans as one message of OTLP JSON',
    file: 'spans.json',
    content: JSON.stringify(otlp(span, child), null, 1),
    items: [
      {
        id: 'eee19b7ec3c1b174',
        trace_id: '5b8efff798038103d269b633813fc60c',
        started_at: '2026-11-02T09:15:00.250Z',
        ended_at: '2026-11-02T09:15:01.750Z',
        exception: 'cut off',
      },
    ],
    steps: [{ id: 'aaa19b7ec3c1b174', parent_id: 'eee19b7ec3c1b174' }],
  },
  {
    title: 'OpenTelemetry: lines of a collector',
    file: 'collector.jsonl',
    content: lines(otlp(child), otlp(span)),
    items: [{ id: 'eee19b7ec3c1b174' }],
    steps: [{ id: 'aaa19b7ec3c1b174' }],
  },
  {
    title: 'OpenTelemetry: a span without ids',
    file: 'spans.json',
    content: JSON.stringify(otlp({ ...span, spanId: '' })),
    refused: /Line 1 of \S+: A span must have a spanId and a traceId\./,
  },
];

/** The kinds of files that people have. */
export const importKinds: readonly ImportKind[] = [
  ...plainKinds,
  ...huggingFaceKinds,
  ...openaiKinds,
  ...langfuseKinds,
  ...langsmithKinds,
  ...promptfooKinds,
  ...heddleKinds,
  ...otlpKinds,
];
